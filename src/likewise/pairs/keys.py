"""Pairs of items as numbers: one key for each pair, whichever of the two comes first; and which items occur at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ROWS, ROWS_PER_ANSWER = 2**23, 64  # see `is_sparse`

Ints = NDArray[np.int64]


def keys(i: Ints, j: Ints, n: int) -> Ints:
    """The key of each pair of n items; there are never so many items that it would not fit.

    >>> keys(np.array([3, 1]), np.array([1, 3]), n=10)
    array([13, 13])
    """
    return np.minimum(i, j) * n + np.maximum(i, j)


def pairs_of(key: Ints, n: int) -> tuple[Ints, Ints]:
    """The other way: the pairs that have these keys, the smaller item first."""
    i, j = np.divmod(key, max(n, 1))
    return i, j


def distinct(values: Ints) -> Ints:
    """Each value once, in order; by sorting, which takes a tenth of the time of np.unique's table."""
    ordered = np.sort(values)
    first = np.ones(len(ordered), dtype=np.bool_)
    first[1:] = ordered[1:] != ordered[:-1]
    return ordered[first]


def is_sparse(n: int, n_answers: int) -> bool:
    """Whether so few of n rows are answered about that a table of all rows takes far more room than the answers."""
    return n > max(ROWS, ROWS_PER_ANSWER * n_answers)


def occurring(left: Ints, right: Ints, n: int) -> Ints:
    """The items that occur, in order.

    >>> occurring(np.array([7, 2]), np.array([2, 5]), n=10)
    array([2, 5, 7])
    """
    if is_sparse(n, len(left)):
        return distinct(np.concatenate([left, right]))
    there = np.zeros(n, dtype=np.bool_)
    there[left] = there[right] = True
    return np.flatnonzero(there)


def places(items: Ints, side: Ints, n: int) -> Ints:
    """The place of each item of a side among those that occur."""
    if is_sparse(n, len(side)):
        return np.searchsorted(items, side)
    table = np.empty(n, dtype=np.int64)
    table[items] = np.arange(len(items))
    return table[side]
