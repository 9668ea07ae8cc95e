"""Intervals of a share: Wilson's, and that of right answers, where those that share an item are not independent.

A classifier that misplaces one item is wrong about most answers that name it. So the items are drawn again, with
replacement, and not the answers: in a draw that holds item i c_i times, an answer about i and j counts c_i c_j times
(the pigeonhole bootstrap: Owen, 2007). The spread of the share over many draws is that of the share itself; an answer
that is drawn by two items varies three times as much as one that is drawn alone, and that excess is taken off again.
What is left says how many independent answers these are worth, and Wilson's interval is that of so many. Such a number
is not whole, and SciPy's `binomtest` takes whole numbers only, so `wilson` is written out here.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray


def wilson(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval (low, high) of a share of which `hits` of `n` were seen (Wilson, 1927).

        (p + z²/2n ± z √(p (1 - p) / n + z²/4n²)) / (1 + z²/n),    p = hits / n

    z is the normal quantile of (1 + confidence) / 2. Unlike p ± z √(p (1 - p) / n), it never leaves [0, 1] and never
    shrinks to a point, not even at 0 or n hits. Without a single trial it is (0, 1): nothing is known. It takes the
    trials as independent; of answers that share items see `share_interval`, which gives the number that they are worth.

    >>> low, high = wilson(149, 160)
    >>> round(low, 3), round(high, 3)
    (0.881, 0.961)
    """
    if not 0 <= hits <= n:
        raise ValueError(f"hits must be between 0 and n, got {hits} of {n}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    if n == 0:
        return 0.0, 1.0
    share, z = hits / n, NormalDist().inv_cdf((1 + confidence) / 2)
    middle = share + z**2 / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    low = (middle - half) / scale if hits else 0.0  # the ends are exact, whatever rounding makes of them
    high = (middle + half) / scale if hits < n else 1.0
    return low, high


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
