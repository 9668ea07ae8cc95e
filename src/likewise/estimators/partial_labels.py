"""Labels of some items: which are known, what classes they name, and which of them are kept back to measure with."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from likewise.errors import InputError
from likewise.unknown import UNKNOWN

NO_LABEL = ("", *map(str, UNKNOWN))  # as text


class PartialLabels(NamedTuple):
    classes: NDArray[Any]  # (K,) sorted
    codes: NDArray[np.int64]  # (n,) positions in the classes; -1 where unknown


def read_partial_labels(y: ArrayLike | None, n_items: int, n_classes: int | None) -> PartialLabels:
    """Labels, checked; -1 and -100 are unknown, and so are an empty text and None where the labels are text.

    >>> read_partial_labels(["bee", "", "ant", "bee"], 4, None)
    PartialLabels(classes=array(['ant', 'bee'], dtype='<U3'), codes=array([ 1, -1,  0,  1]))
    """
    if y is None:
        raise InputError(
            "SemiSupervisedClassifier requires y to be passed, but the target y is None; give the label of each item, "
            "and -1 where there is none."
        )
    given = column_or_1d(y, warn=True)
    if given.dtype.kind not in "OU":
        assert_all_finite(given, input_name="y")
    if len(given) != n_items:
        raise InputError(f"X has {n_items} items and y {len(given)}; give one label an item, -1 where there is none.")
    known = is_labelled(given)
    if not known.any():
        raise InputError("y holds no label, all of it is -1; label at least two items, of different classes.")
    labels = np.array(given[known].tolist()) if given.dtype.kind == "O" else given[known]
    check_classification_targets(labels)
    classes, places = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y holds one class, {classes[0]}; label items of at least two, for nothing is different.")
    if n_classes is not None and n_classes < len(classes):
        raise InputError(
            f"n_classes is {n_classes}, but the {len(labels)} labels name {len(classes)} classes; give "
            f"{len(classes)} or more, or leave it out."
        )
    codes = np.full(n_items, -1, dtype=np.int64)
    codes[known] = places
    return PartialLabels(classes, codes)


def hold_out_labels(codes: NDArray[np.int64], share: float, seed: int) -> NDArray[np.int64]:
    """Positions of a random share of the labelled items, such that each class keeps at least one.

    >>> hold_out_labels(np.array([0, 0, 0, 1, -1, 0]), 0.6, seed=0)  # of five labels; class 1 has one alone
    array([0, 1, 5])
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(codes >= 0))
    kept = np.unique(codes[order], return_index=True)[1]  # the first of each class
    free = np.delete(order, kept)
    return np.sort(free[: int(share * len(order))])


def is_labelled(given: NDArray[Any]) -> NDArray[np.bool_]:
    """(n,) Which entries are labels."""
    if given.dtype.kind == "U":
        return ~np.isin(np.char.strip(given), NO_LABEL)
    if given.dtype.kind == "O":
        return np.array([not _is_missing(value) for value in given], dtype=np.bool_)
    return ~np.isin(given, UNKNOWN)


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip() in NO_LABEL
    return value is None or value in UNKNOWN or value != value
