"""What the pictures show, as numbers: how wide the low region is, and how alike two surfaces are."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import spearmanr

from likewise.errors import InputError


def share_below(values: ArrayLike, level: float) -> float:
    """The share of all points at which the loss is below a level; a gap is not below.

    >>> share_below([[0.1, 0.4], [0.9, np.nan]], level=0.5)
    0.5
    """
    array = np.asarray(values)
    return float(np.mean(np.less(array, level, where=np.isfinite(array), out=np.zeros(array.shape, dtype=np.bool_))))


def finite_range(values: ArrayLike) -> tuple[float, float]:
    """The lowest and the highest finite value; NaN where there is none.

    >>> finite_range([[0.5, np.nan], [2.0, 1.0]])
    (0.5, 2.0)
    """
    array = np.asarray(values)
    there = array[np.isfinite(array)]
    return (float(there.min()), float(there.max())) if there.size else (float("nan"), float("nan"))


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's, over the points at which both are finite; NaN where one of them is the same everywhere.

    It asks only whether the two rise and fall together, and so needs no common unit.

    >>> round(rank_correlation([1, 2, 3, np.nan], [1, 10, 100, 0]), 6)
    1.0
    """
    left, right = np.asarray(first, dtype=np.float64).ravel(), np.asarray(second, dtype=np.float64).ravel()
    if left.shape != right.shape:
        raise InputError(f"Surfaces of {left.size} and {right.size} points cannot be compared; use one grid for both.")
    both = np.isfinite(left) & np.isfinite(right)
    left, right = left[both], right[both]
    if left.size < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(spearmanr(left, right).statistic)
