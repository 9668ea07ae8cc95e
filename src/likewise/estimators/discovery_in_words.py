"""What was discovered, in a sentence: how many classes there are, and what of a pile is known and what is new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from likewise.estimators.category_discoverer import CategoryDiscoverer

HARDLY_ANY, MUCH = 0.02, 0.2  # of a pile
COUNTED = {
    "known classes": "by a rule that was calibrated on known classes",
    "silhouette": "by their silhouette, because the known classes are too few to calibrate a rule with",
}


def number_in_words(found: CategoryDiscoverer) -> str:
    """How many classes there are, how sure that is, and how many the paper's count would say."""
    number, by = found.number_, found.counted_by_
    paper = f"the paper's count of dominant clusters is {found.n_dominant_}."
    if by == "given":
        return f"The number of classes, {number.estimate}, was given; {paper}"
    return f"There are about {number.estimate} classes (interval {number.low} to {number.high}), {COUNTED[by]}; {paper}"


def mixture_in_words(found: CategoryDiscoverer) -> str:
    """What is known and what is new in a pile."""
    if not found.mixed:
        share = found.known_share_
        return "" if share is None else f"About {100 * share:.0f} % of the pile look like known classes."
    assert found.similarity_ is not None
    n_known, size = len(found.similarity_.classes_), len(found.codes_)
    old = int((found.codes_ < n_known).sum())
    n_new = found.n_classes_ - n_known
    if not n_new:
        return f"No new class was found: all {size:,} items are of the {n_known} known classes."
    if old <= HARDLY_ANY * size:
        return f"Hardly any item is of a known class: {size - old:,} of {size:,} are of {n_new} new ones."
    return f"{old:,} items are of known classes and {size - old:,} of {n_new} new ones."


def doubts_in_words(found: CategoryDiscoverer) -> Iterator[str]:
    """What a user must be warned of."""
    if doubts := found.trust_.doubts:
        yield f"The similarity looks useless on this pile: {'; '.join(doubts)}. Do not trust the classes."
    share = found.known_share_
    if share is not None and not found.mixed and share > MUCH:
        yield f"About {100 * share:.0f} % of the pile look like known classes; use --mixed (mixed=True)."
