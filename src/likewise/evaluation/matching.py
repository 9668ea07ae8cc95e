"""Which class each output stands for: the confusion matrix, and the Hungarian matching fitted on it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from likewise.unknown import UNKNOWN

Counts = NDArray[np.int64]  # (K, C): items with output k and class c


def confusion(outputs: ArrayLike, labels: ArrayLike, n_outputs: int, n_classes: int) -> Counts:
    """Count the items of each output (row) and class (column); items with label -1 or -100 are left out.

    >>> confusion([0, 0, 1, 2], [1, 1, 0, -1], n_outputs=3, n_classes=2)
    array([[0, 2],
           [1, 0],
           [0, 0]])
    """
    rows = _indices(outputs, "outputs", lowest=0, end=n_outputs)
    columns = _indices(_unknown_as_minus_one(labels), "labels", lowest=-1, end=n_classes)
    if len(rows) != len(columns):
        raise ValueError(f"outputs and labels must be of equal length, got {len(rows)} and {len(columns)}.")
    known = columns >= 0
    cells = rows[known] * n_classes + columns[known]
    counts: Counts = np.bincount(cells, minlength=n_outputs * n_classes).reshape(n_outputs, n_classes)
    return counts.astype(np.int64, copy=False)


def match_outputs(confusion: ArrayLike) -> NDArray[np.int64]:
    """The class of each output (K,), -1 where it has none, so that the most items are right (Hungarian algorithm).

    Each class goes to at most one output and each output to at most one class (Section 5.1 of the paper). Fit it on
    training data and use it for test data. A match that no item supports would be an accident of the order of the
    outputs, not knowledge, so that output is -1 too: an output that never fires has no class, even when K = C.

    >>> match_outputs([[0, 9], [8, 1], [3, 0], [0, 0]])
    array([ 1,  0, -1, -1])
    """
    counts = as_counts(confusion)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    supported = counts[rows, columns] > 0
    matching = np.full(len(counts), -1, dtype=np.int64)
    matching[rows[supported]] = columns[supported]
    return matching


def apply_matching(outputs: ArrayLike, matching: ArrayLike) -> NDArray[np.int64]:
    """The class of each item from its output; -1 for items whose output has no class.

    >>> apply_matching([0, 2, 1, 0], matching=[1, 0, -1])
    array([ 1, -1,  0,  1])
    """
    classes = _indices(matching, "matching", lowest=-1)
    return classes[_indices(outputs, "outputs", lowest=0, end=len(classes))]


def as_counts(confusion: ArrayLike) -> Counts:
    """The confusion matrix as int64 (K, C), or a ValueError that says what is wrong with it."""
    counts = np.asarray(confusion)
    if counts.ndim != 2:
        raise ValueError(f"confusion must be a matrix (outputs, classes), got shape {counts.shape}.")
    if counts.size and (counts.dtype.kind not in "iu" or counts.min() < 0):
        raise ValueError("confusion must hold counts of items: integers that are not negative.")
    return counts.astype(np.int64, copy=False)


def _unknown_as_minus_one(labels: ArrayLike) -> NDArray[np.generic]:
    array = np.asarray(labels)
    return np.where(np.isin(array, UNKNOWN), -1, array) if array.dtype.kind == "i" else array


def _indices(values: ArrayLike, name: str, *, lowest: int, end: int | None = None) -> NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name} must be integers, got {array.dtype}.")
    if array.min() < lowest or (end is not None and array.max() >= end):
        limit = f"at least {lowest}" if end is None else f"between {lowest} and {end - 1}"
        raise ValueError(f"{name} must be {limit}, got values from {array.min()} to {array.max()}.")
    return array.astype(np.int64, copy=False)
