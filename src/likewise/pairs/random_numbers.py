"""Soft answers among which some are random numbers, as of one who moves a slider anywhere.

One who means an answer is mostly sure, so the answers y crowd near 0 and 1. Random numbers lie everywhere alike. With h
the density of all answers of an annotator, the share r of random ones is at most the least of h, and

    P(random | y) = r / h(y)

In the middle nearly all may be random: these answers say nothing, however they are weighted. What is left is near 0 and
1, and wrong far more seldom. Hard answers have no density in the middle, so r = 0 and they stay as they are.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Floats = NDArray[np.float64]

PLACES = 20  # in which answers are counted
ENDS = np.array([0.001, 0.01, 0.03])  # the first and the last place are divided here
LEAST_ANSWERS = 200  # of an annotator, fewer of which show no density
MOST_RANDOM = 0.5  # answers that are spread more evenly than this have a meaning that is not known here
DOUBT = 0.3  # P(random) above which an answer is not used


def without_random_numbers(pairs: Pairs) -> Pairs:
    """The same answers; those that may well be random numbers have weight 0, with a warning that says how many.

    >>> from likewise.pairs import Pairs
    >>> random = np.random.default_rng(0)
    >>> said = np.concatenate([random.random(300), np.repeat([0.001, 0.999], 350)])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     kept = without_random_numbers(Pairs.from_arrays([(i, i + 1) for i in range(1000)], said))
    >>> int((kept.weight[:300] > 0).sum()), int((kept.weight[300:] > 0).sum())
    (4, 700)
    """
    who = np.zeros(len(pairs), dtype=np.int32) if pairs.annotator is None else pairs.annotator
    doubtful = np.zeros(len(pairs), dtype=np.bool_)
    soft = (pairs.same > 0) & (pairs.same < 1) & (pairs.weight > 0)
    for annotator in np.unique(who[soft]):
        own = np.flatnonzero((who == annotator) & (pairs.weight > 0))
        share, p_random = random_share(pairs.same[own].astype(np.float64))
        if len(own) >= LEAST_ANSWERS and share <= MOST_RANDOM:
            doubtful[own] = soft[own] & (p_random > DOUBT)
    if not doubtful.any():
        return pairs
    warnings.warn(
        f"Some of the soft answers look like random numbers, spread evenly from 0 to 1: {int(doubtful.sum()):,} of "
        f"{len(pairs):,} answers may be such and are not used.",
        stacklevel=5,
    )
    return replace(pairs, weight=np.where(doubtful, np.float32(0), pairs.weight))


def random_share(same: Floats) -> tuple[float, Floats]:
    """r, and P(random | y) of each answer.

    r is the mean density of the emptier half of all places: the least alone would be too low by chance.
    """
    edges = np.linspace(0, 1, PLACES + 1)
    density = np.histogram(same, edges)[0] * PLACES / max(len(same), 1)
    share = min(float(np.sort(density)[: PLACES // 2].mean()), 1.0)
    edges = np.concatenate([[0.0], ENDS, edges[1:-1], 1 - ENDS[::-1], [1.0]])
    counts = np.histogram(same, edges)[0]
    width = np.diff(edges)
    place = np.searchsorted(edges, same, side="right").clip(1, len(width)) - 1
    return share, np.minimum(share * len(same) * width[place] / np.maximum(counts[place], 1), 1.0)
