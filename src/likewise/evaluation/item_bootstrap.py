"""The interval of a share of right answers, where answers that share an item are right or wrong together.

A classifier that misplaces one item is wrong about most answers that name it. So the items are drawn again, with
replacement, and not the answers: in a draw that holds item i c_i times, an answer about i and j counts c_i c_j times
(the pigeonhole bootstrap: Owen, 2007). The spread of the share over many draws is that of the share itself; an answer
that is drawn by two items varies three times as much as one that is drawn alone, and that excess is taken off again.
What is left says how many independent answers these are worth, and Wilson's interval is that of so many.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.wilson import wilson

DRAWS = 1000
EXCESS = 2.0  # variances of the share of independent answers


def share_interval(
    hit: ArrayLike, left: ArrayLike, right: ArrayLike, confidence: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """The interval (low, high) of the share of hits among answers (m,) about the items `left` and `right` (m,).

    Where all are hits, or none is, nothing shows how far answers hang together, and as many count as share no item.

    >>> hit, left, right = np.arange(60) % 6 > 0, np.arange(60) % 6, np.arange(60) // 6 + 6  # item 0 is misplaced
    >>> share_interval(hit, left, right)[0] < wilson(50, 60)[0] - 0.1
    True
    >>> share_interval([1, 1, 1], [0, 0, 1], [1, 2, 2]) == wilson(1, 1)
    True
    """
    hits = np.asarray(hit, dtype=np.bool_)
    if not len(hits):
        return 0.0, 1.0
    items, place = np.unique(np.concatenate([left, right]), return_inverse=True)
    i, j = place.reshape(2, -1)
    n, share = len(hits), float(hits.mean())
    if share in (0.0, 1.0):
        worth = float(_disjoint(i, j, len(items)))
    else:
        alone = share * (1 - share) / n
        worth = n / max((_variance(hits, i, j, len(items), seed) - EXCESS * alone) / alone, 1.0)
    return wilson(share * worth, worth, confidence)


def _variance(hits: NDArray[np.bool_], i: NDArray[np.int64], j: NDArray[np.int64], n: int, seed: int) -> float:
    """Of the share of hits, when n items are drawn again."""
    random = np.random.default_rng(seed)
    shares = []
    for _ in range(DRAWS):
        times = np.bincount(random.integers(n, size=n), minlength=n)
        weight = times[i] * times[j]
        if weight.any():
            shares.append(float(weight[hits].sum() / weight.sum()))
    return float(np.var(shares)) if shares else 0.0


def _disjoint(i: NDArray[np.int64], j: NDArray[np.int64], n: int) -> int:
    """How many answers, taken in order, share no item with one taken before."""
    taken, count = [False] * n, 0
    for left, right in zip(i.tolist(), j.tolist(), strict=True):
        if not (taken[left] or taken[right]):
            taken[left] = taken[right] = True
            count += 1
    return count
