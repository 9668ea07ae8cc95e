"""A discovery in words: how many classes there are, what is known and what is new, and how good the similarity is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.estimators.category_discoverer import CategoryDiscoverer
    from likewise.evaluation import PairQuality

HARDLY_ANY, MUCH = 0.02, 0.2  # of a pile
COUNTED = {
    "known classes": "by a rule that was calibrated on known classes",
    "silhouette": "by their silhouette, because the known classes are too few to calibrate a rule with",
}


def number_in_words(discoverer: CategoryDiscoverer) -> str:
    """How many classes there are, how sure that is, and how many the paper's count would say."""
    number, by = discoverer.number_, discoverer.counted_by_
    paper = f"the paper's count of dominant clusters is {discoverer.n_dominant_}."
    if by == "given":
        return f"The number of classes, {number.estimate}, was given; {paper}"
    return f"There are about {number.estimate} classes (interval {number.low} to {number.high}), {COUNTED[by]}; {paper}"


def mixture_in_words(discoverer: CategoryDiscoverer) -> str:
    """What is known and what is new in a pile."""
    if not discoverer.mixed:
        share = discoverer.known_share_
        return "" if share is None else f"About {100 * share:.0f} % of the pile look like known classes."
    assert discoverer.similarity_ is not None
    n_known, size = len(discoverer.similarity_.classes_), len(discoverer.codes_)
    old = int((discoverer.codes_ < n_known).sum())
    n_new = discoverer.n_classes_ - n_known
    if not n_new:
        return f"No new class was found: all {size:,} items are of the {n_known} known classes."
    if old <= HARDLY_ANY * size:
        return f"Hardly any item is of a known class: {size - old:,} of {size:,} are of {n_new} new ones."
    return f"{old:,} items are of known classes and {size - old:,} of {n_new} new ones."


def doubts_in_words(discoverer: CategoryDiscoverer) -> Iterator[str]:
    """What a user must be warned of."""
    if doubts := discoverer.trust_.doubts:
        yield f"The similarity looks useless on this pile: {'; '.join(doubts)}. Do not trust the classes."
    share = discoverer.known_share_
    if share is not None and not discoverer.mixed and share > MUCH:
        yield f"About {100 * share:.0f} % of the pile look like known classes; use --mixed (mixed=True)."


def similarity_in_words(quality: PairQuality, held_out: str) -> Iterator[str]:
    """How right a similarity was about pairs that it had not seen."""
    if held_out != "items":
        yield f"On known {held_out} that were kept back, all of them new to it:"
    else:
        yield "On items that were kept back, of classes that it knows (so that new ones will be harder):"
    for kind in ("same", "different"):
        precision, recall = getattr(quality, f"{kind}_precision"), getattr(quality, f"{kind}_recall")
        n = getattr(quality, f"n_{kind}")
        right = "it never says so" if precision != precision else f"right {100 * precision:.1f} % of the time"
        yield f"  “{kind}”: {right}, and said of {100 * recall:.1f} % of the {n:,} pairs that are"
    yield f"  its probabilities are off by {100 * quality.calibration_error:.1f} percentage points on average"


def trust_in_words(trust: dict[str, Any]) -> str:
    """Whether the similarity is sure of the pile's pairs and agrees with itself."""
    confident, closed, alone = (f"{100 * trust[name]:.0f} %" for name in ("confident", "closed", "alone"))
    return (
        f"On this pile the similarity is sure of {confident} of the pairs, agrees with itself in {closed} of the "
        f"chains i = j = k, and takes {alone} of the items for unlike any other."
    )
