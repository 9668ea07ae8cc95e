"""Pairs of items as numbers: a key for each, distinct pairs, pairs drawn at random, all pairs of labels or a matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.unknown import UNKNOWN

ROWS, ROWS_PER_ANSWER = 2**23, 64  # see `is_sparse`

Ints = NDArray[np.int64]


def pair_keys(i: Ints, j: Ints, n: int) -> Ints:
    """The key of each pair of n items; there are never so many items that it would not fit.

    >>> pair_keys(np.array([3, 1]), np.array([1, 3]), n=10)
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
    """Whether answers are about so few of n rows that a table of all rows takes far more room than the answers."""
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


def positions_among(items: Ints, side: Ints, n: int) -> Ints:
    """The place of each item of a side among those that occur."""
    if is_sparse(n, len(side)):
        return np.searchsorted(items, side)
    table = np.empty(n, dtype=np.int64)
    table[items] = np.arange(len(items))
    return table[side]


# Pairs drawn without a list of all pairs: every pair has a number, and distinct numbers are drawn.


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
    numbers = np.empty(0, dtype=np.int64)
    while len(numbers) < n:
        more = random.integers(total, size=n - len(numbers) + n // 8 + 8)
        numbers = distinct(np.concatenate([numbers, more]))
    return random.permutation(numbers)[:n]


MOST_PAIRS = 50_000_000  # that are made from labels without being asked for by number
ROUNDING = 1e-5  # by which the two entries of a pair may differ in a matrix of similarities


def label_pairs(
    labels: ArrayLike, n: int | None, random_state: int | np.random.Generator | None
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Left, right and same of all pairs of labelled items, or of n of them; see `Pairs.from_labels`."""
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iubUSO":
        raise InputError(f"labels are {labels.dtype} of shape {labels.shape}; give one integer or text per item.")
    known = np.arange(len(labels)) if labels.dtype.kind in "US" else np.flatnonzero(~np.isin(labels, UNKNOWN))
    total = n_pairs(len(known))
    if n is None and total > MOST_PAIRS:
        raise InputError(f"{len(known)} labels make {total} pairs; give n, the number of pairs to draw.")
    if n is not None and not 0 <= n <= total:
        raise InputError(f"n is {n}, but {len(known)} labels make {total} pairs; give n from 0 to that.")
    number = np.arange(total) if n is None else distinct_numbers(total, n, np.random.default_rng(random_state))
    left, right = (known[side] for side in pair_numbered(number))
    return left, right, np.asarray(labels[left] == labels[right])


def matrix_pairs(same: ArrayLike) -> tuple[Ints, Ints, NDArray[np.float64], int]:
    """Left, right and same of the pairs that a symmetric matrix knows, and its size; see `Pairs.from_matrix`."""
    matrix = np.asarray(same)
    if matrix.ndim != 2 or len(set(matrix.shape)) != 1 or matrix.dtype.kind not in "fbiu":
        raise InputError(f"same is {matrix.dtype} of shape {matrix.shape}; give a matrix (n, n) of numbers.")
    rounding = max(ROUNDING, 16 * float(np.finfo(matrix.dtype).eps)) if matrix.dtype.kind == "f" else 0.0
    left, right = np.triu_indices(len(matrix), 1)
    above, below = matrix[left, right].astype(np.float64), matrix[right, left].astype(np.float64)
    differ = ~(np.abs(above - below) <= rounding) & ~(np.isnan(above) & np.isnan(below))
    if differ.any():
        i, j = left[differ][0], right[differ][0]
        raise InputError(f"same[{i}, {j}] is {matrix[i, j]} and same[{j}, {i}] is {matrix[j, i]}; make them equal.")
    known = ~np.isnan(above)
    mean = (above[known] + below[known]) / 2
    inside = np.clip(mean, 0, 1)
    return left[known], right[known], np.where(np.abs(mean - inside) <= rounding, inside, mean), len(matrix)
