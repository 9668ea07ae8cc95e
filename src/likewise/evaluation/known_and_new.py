"""All, old and new: how much of a mixed pile is right, and how much of its known and of its new classes.

Outputs are matched with classes once, over all items (the protocol of generalised category discovery: Vaze et al.,
2022), so that an item of a new class that goes to a known one counts against both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.scores import confusion, match_outputs


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
