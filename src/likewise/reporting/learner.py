"""What a report knows of one trained classifier, and how its outputs are ordered and named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import InputError


@dataclass(frozen=True, eq=False)
class Learner:
    """One classifier in a report; items are the test items, in the same order for every learner.

    An output is what the network gives, 0 to K-1; a class is what a person calls it, 0 to C-1. `matching` leads from
    one to the other. Without labels, `confusion` has no columns and `matching` is -1 throughout.

    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> def learner(name, outputs, labels=np.array([0, 0, 1, 1])):
    ...     counts = confusion(np.array(outputs), labels, 2, 2)
    ...     found = match_outputs(counts)
    ...     history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    ...     return Learner(name, history, counts, found, scores(counts, found), np.array(outputs), np.ones(4))
    >>> learner("pairs", [1, 1, 0, 0]).predictions
    array([0, 0, 1, 1])
    """

    name: str
    history: Sequence[Mapping[str, float]]  # one row an epoch: epoch, loss, accuracy, test_accuracy
    confusion: np.ndarray  # (K, C) counts of items: rows outputs, columns classes
    matching: np.ndarray  # (K,) class of each output, -1 where unmatched
    scores: Mapping[str, float]  # accuracy, nmi, ari, pair_f1: those that could be measured
    outputs: np.ndarray  # (n,) the output of each item
    probabilities: np.ndarray  # (n,) the probability of that output

    def __post_init__(self) -> None:
        if self.confusion.ndim != 2 or len(self.confusion) != len(self.matching):
            raise InputError(
                f"{self.name}: confusion must have one row for each of the {len(self.matching)} outputs in matching, "
                f"got shape {self.confusion.shape}."
            )
        if len(self.outputs) != len(self.probabilities):
            raise InputError(
                f"{self.name}: outputs and probabilities must be of the same items, "
                f"got {len(self.outputs)} and {len(self.probabilities)}."
            )
        if len(self.outputs) and not 0 <= np.min(self.outputs) <= np.max(self.outputs) < len(self.matching):
            raise InputError(f"{self.name}: outputs must be between 0 and {len(self.matching) - 1}, as in matching.")

    @property
    def predictions(self) -> np.ndarray:
        """The class of each item, -1 where its output is unmatched."""
        return np.asarray(self.matching)[np.asarray(self.outputs, dtype=np.int64)]  # (n,)


def output_order(matching: np.ndarray) -> list[int]:
    """Outputs in the order of their classes, so that agreement lies on the diagonal; unmatched outputs come last.

    >>> output_order(np.array([2, -1, 0, 1]))
    [2, 3, 0, 1]
    """
    matching = np.asarray(matching)
    return [int(k) for k in np.lexsort((matching, matching < 0))]


def class_name(index: int, class_names: Sequence[str], otherwise: str = "unknown") -> str:
    """The name of a class, or `otherwise` for -1.

    >>> class_name(1, ("cat", "dog")), class_name(-1, ("cat", "dog"), "unmatched")
    ('dog', 'unmatched')
    """
    return str(class_names[index]) if index >= 0 else otherwise


def find_disagreements(learners: Sequence[Learner]) -> list[int]:
    """Positions of the items that not all learners put in the same class; none for a single learner.

    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> def learner(name, outputs, labels=np.array([0, 0, 1, 1])):
    ...     counts = confusion(np.array(outputs), labels, 2, 2)
    ...     found = match_outputs(counts)
    ...     history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    ...     return Learner(name, history, counts, found, scores(counts, found), np.array(outputs), np.ones(4))
    >>> find_disagreements([learner("pairs", [1, 1, 0, 0]), learner("labels", [0, 0, 1, 0])])
    [3]
    """
    if len(learners) < 2:
        return []
    predictions = np.stack([learner.predictions for learner in learners])  # (learners, n)
    return [int(i) for i in np.flatnonzero((predictions != predictions[0]).any(axis=0))]
