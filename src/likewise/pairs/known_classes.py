"""Answers that follow from what is known already: the labels of items, or a matrix of similarities."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.errors import InputError
from likewise.pairs.pair_keys import distinct_numbers, n_pairs, pair_numbered
from likewise.unknown import UNKNOWN

Ints = NDArray[np.int64]

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
