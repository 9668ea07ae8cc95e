"""Scores of a labelling, each computed from the confusion matrix alone, so that n^2 pairs are never visited.

A confusion matrix without a single item scores 0 (and its error is 1): where nothing was judged, nothing is claimed.
`known_and_new` matches outputs with classes once, over all items (the protocol of generalised category discovery: Vaze
et al., 2022), so that an item of a new class that goes to a known one counts against both.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from likewise.unknown import UNKNOWN

# Which class each output stands for: the confusion matrix, and the Hungarian matching fitted on it.

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


class PairScores(NamedTuple):
    """How well "these two have the same output" says "these two have the same class", over all unordered pairs.

    >>> from likewise.evaluation import pair_scores
    >>> pair_scores([[2, 0], [0, 2]])
    PairScores(precision=1.0, recall=1.0, f1=1.0)
    """

    precision: float
    recall: float
    f1: float


def accuracy(confusion: ArrayLike, matching: ArrayLike) -> float:
    """The share of items whose output is matched with their class; an item of an unmatched output is an error.

    >>> accuracy([[0, 9], [8, 1], [2, 0]], matching=[1, 0, -1])
    0.85
    """
    counts = as_counts(confusion)
    classes = np.asarray(matching)
    if classes.shape != (len(counts),):
        raise ValueError(f"matching must name one class for each of {len(counts)} outputs, got shape {classes.shape}.")
    if classes.size and (classes.dtype.kind not in "iu" or classes.min() < -1 or classes.max() >= counts.shape[1]):
        raise ValueError(f"matching must hold classes from 0 to {counts.shape[1] - 1}, or -1 for an unmatched output.")
    matched = np.flatnonzero(classes >= 0)
    total = int(counts.sum())
    return int(counts[matched, classes[matched]].sum()) / total if total else 0.0


def nmi(confusion: ArrayLike, average: Literal["geometric", "arithmetic", "min", "max"] = "geometric") -> float:
    """Normalised mutual information of outputs and classes, I(k; c) / mean(H(k), H(c)), between 0 and 1.

    The geometric mean is that of Strehl & Ghosh (2002), whom the paper cites; scikit-learn's default has since become
    the arithmetic one, which gives slightly lower figures. Where one side has a single group there is no information
    to share and the score is 0; where both have, they agree and it is 1.

    >>> round(nmi([[5, 0], [0, 5], [0, 5]]), 3)
    0.761
    """
    if average not in ("geometric", "arithmetic", "min", "max"):
        raise ValueError(f"average must be geometric, arithmetic, min or max, got {average!r}.")
    counts = as_counts(confusion)
    total = int(counts.sum())
    if total == 0:
        return 0.0
    outputs, classes = counts.sum(axis=1), counts.sum(axis=0)
    h_outputs, h_classes = _entropy(outputs, total), _entropy(classes, total)
    if h_outputs == 0 or h_classes == 0:
        return float(h_outputs == h_classes)
    rows, columns = np.nonzero(counts)
    cells = counts[rows, columns]
    log_ratio = np.log(cells) + math.log(total) - np.log(outputs[rows]) - np.log(classes[columns])
    information = float(cells @ log_ratio) / total
    mean = {
        "geometric": math.sqrt(h_outputs * h_classes),
        "arithmetic": (h_outputs + h_classes) / 2,
        "min": min(h_outputs, h_classes),
        "max": max(h_outputs, h_classes),
    }[average]
    return min(max(information / mean, 0.0), 1.0)  # rounding may step over either end


def ari(confusion: ArrayLike) -> float:
    """Adjusted Rand index (Hubert & Arabie, 1985): 1 for equal partitions, 0 on average for random ones.

    >>> ari([[5, 0], [0, 5]]), ari([[3, 3], [2, 2]]) < 0
    (1.0, True)
    """
    counts = as_counts(confusion)
    if not counts.any():
        return 0.0
    both, output, label, total = _pair_counts(counts)
    if output == label == both:
        return 1.0  # equal partitions, among them the two for which the index is 0/0: one group, and all alone
    # (both - expected) / ((output + label) / 2 - expected) with expected = output * label / total, in exact integers.
    return 2 * (both * total - output * label) / ((output + label) * total - 2 * output * label)


def pair_scores(confusion: ArrayLike) -> PairScores:
    """Precision, recall and F1 over pairs of items; 0 where there is no pair to take a share of.

    >>> pair_scores([[2, 1], [0, 2]])
    PairScores(precision=0.5, recall=0.5, f1=0.5)
    """
    both, output, label, _ = _pair_counts(as_counts(confusion))
    return PairScores(
        precision=both / output if output else 0.0,
        recall=both / label if label else 0.0,
        f1=2 * both / (output + label) if output + label else 0.0,
    )


def scores(confusion: ArrayLike, matching: ArrayLike) -> dict[str, float]:
    """All scores by name; ``matching`` is fitted elsewhere, on training data.

    >>> scores([[2, 0], [0, 2]], matching=[1, 0])["error"]
    1.0
    """
    right = accuracy(confusion, matching)
    pair = pair_scores(confusion)
    return {
        "accuracy": right,
        "error": 1.0 - right,
        "nmi": nmi(confusion),
        "ari": ari(confusion),
        "pair_precision": pair.precision,
        "pair_recall": pair.recall,
        "pair_f1": pair.f1,
    }


def _pair_counts(counts: Counts) -> tuple[int, int, int, int]:
    """Pairs with the same output and class, the same output, the same class, and all pairs.

    Sums of squares fit int64 up to three thousand million items; the products of these, which would not fit, are
    left to Python's integers.
    """

    def within(groups: NDArray[np.int64]) -> int:
        return int((groups * (groups - 1) // 2).sum())

    return within(counts), within(counts.sum(axis=1)), within(counts.sum(axis=0)), within(counts.sum(keepdims=True))


def _entropy(groups: NDArray[np.int64], total: int) -> float:
    shares = groups[groups > 0] / total
    return float(-(shares @ np.log(shares)))


class KnownAndNew(NamedTuple):
    """Shares that are right; NaN where there is no such item."""

    all: float
    old: float
    new: float


def known_and_new(labels: ArrayLike, truth: ArrayLike, old: NDArray[np.bool_]) -> KnownAndNew:
    """From the class of each item (n,), the true one (n,), and whether that is a known class (n,).

    >>> known_and_new(["a", "a", "x", "x"], ["a", "a", "b", "a"], np.array([True, True, False, True]))
    KnownAndNew(all=0.75, old=0.6666666666666666, new=1.0)
    """
    outputs, output = np.unique(np.asarray(labels), return_inverse=True)
    classes, label = np.unique(np.asarray(truth), return_inverse=True)
    matching = match_outputs(confusion(output, label, len(outputs), len(classes)))
    right = matching[output] == label
    parts = (np.ones(len(right), dtype=np.bool_), old, ~old)
    return KnownAndNew(*(float(right[part].mean()) if part.any() else float("nan") for part in parts))
