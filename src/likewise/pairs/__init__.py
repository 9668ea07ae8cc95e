"""Same/different knowledge as data: answers, what they imply, where they contradict, who gave them, natural cues."""

from likewise.pairs.annotators import Agreement, agreement, disagreements
from likewise.pairs.closure import Closure
from likewise.pairs.contradictions import Contradiction
from likewise.pairs.cues import from_graph, from_patches, from_space, from_time
from likewise.pairs.dawid_skene import Reliability, reliability
from likewise.pairs.large import LargeAnswers, read_large
from likewise.pairs.pairs import Pairs
from likewise.pairs.repair import Repair
from likewise.pairs.summary import Summary, summarise

__all__ = [
    "Agreement",
    "Closure",
    "Contradiction",
    "LargeAnswers",
    "Pairs",
    "Reliability",
    "Repair",
    "Summary",
    "agreement",
    "disagreements",
    "from_graph",
    "from_patches",
    "from_space",
    "from_time",
    "read_large",
    "reliability",
    "summarise",
]
