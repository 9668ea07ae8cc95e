"""Pairs drawn without a list of all pairs: every pair has a number, and distinct numbers are drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.keys import distinct

Ints = NDArray[np.int64]


def n_pairs(n: int) -> int:
    """The number of pairs of n items."""
    return n * (n - 1) // 2


def pair_numbered(number: Ints) -> tuple[Ints, Ints]:
    """The pair i < j that has each number: (0, 1) is 0, (0, 2) 1, (1, 2) 2, (0, 3) 3 and so on.

    >>> i, j = pair_numbered(np.arange(6))
    >>> i.tolist(), j.tolist()
    ([0, 0, 1, 0, 1, 2], [1, 2, 2, 3, 3, 3])
    """
    j = ((1 + np.sqrt(1 + 8 * number.astype(np.float64))) / 2).astype(np.int64)
    j -= j * (j - 1) // 2 > number  # where the root was rounded up,
    j += j * (j + 1) // 2 <= number  # and where down
    return number - j * (j - 1) // 2, j


def number_of_pair(i: Ints, j: Ints) -> Ints:
    """The other way: the number of the pair, i < j."""
    return j * (j - 1) // 2 + i


def distinct_numbers(total: int, n: int, random: np.random.Generator) -> Ints:
    """n of the numbers below total, each at most once and every such choice as likely, in random order."""
    if n > total // 2:
        return random.permutation(total)[:n]
    found = np.empty(0, dtype=np.int64)
    while len(found) < n:
        more = random.integers(total, size=n - len(found) + n // 8 + 8)
        found = distinct(np.concatenate([found, more]))
    return random.permutation(found)[:n]
