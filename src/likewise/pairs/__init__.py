"""Same/different knowledge as data: answers, what they imply, where they contradict, who gave them, natural cues."""

from likewise.pairs.annotators import Agreement, Reliability, agreement, disagreements, reliability
from likewise.pairs.closure import Closure
from likewise.pairs.contradictions import Contradiction, Repair
from likewise.pairs.credible import Suspect, suspects
from likewise.pairs.cues import from_graph, from_patches, from_space, from_time
from likewise.pairs.large import LargeAnswers, read_large
from likewise.pairs.pairs import Pairs
from likewise.pairs.posterior import Posterior
from likewise.pairs.rates import Rates, credibility, evidence
from likewise.pairs.summary import Summary, summarise
from likewise.pairs.target import Ids, PairTarget, answers_about, paths_of

__all__ = [
    "Agreement",
    "Closure",
    "Contradiction",
    "Ids",
    "LargeAnswers",
    "PairTarget",
    "Pairs",
    "Posterior",
    "Rates",
    "Reliability",
    "Repair",
    "Summary",
    "Suspect",
    "agreement",
    "answers_about",
    "credibility",
    "disagreements",
    "evidence",
    "from_graph",
    "from_patches",
    "from_space",
    "from_time",
    "paths_of",
    "read_large",
    "reliability",
    "summarise",
    "suspects",
]
