"""Answers beside what a model says of the same pairs, and the items they speak of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import InputError
from likewise.evaluation import hard_answers
from likewise.evaluation.calibration import as_shares
from likewise.reporting.gallery import Pictures, check_pictures


@dataclass(frozen=True, eq=False)
class JudgedAnswers:
    """Answers about m pairs, each with the model's probability that the two are the same."""

    left: np.ndarray  # (m,) positions of items
    right: np.ndarray  # (m,)
    same: np.ndarray  # (m,) in [0, 1]: 1 same, 0 different
    similarity: np.ndarray  # (m,) in [0, 1]
    line: np.ndarray | None = None  # (m,) where the answer stands; without it, its row, counted from 0
    unit: str = "line"  # what `line` counts: "line" of a file, or "row"

    def __post_init__(self) -> None:
        lengths = {
            name: len(value)
            for name in ("left", "right", "same", "similarity", "line")
            if (value := getattr(self, name)) is not None
        }
        if len(set(lengths.values())) > 1:
            given = ", ".join(f"{name} {length}" for name, length in lengths.items())
            raise InputError(f"Columns of answers must be equally long, got {given}.")
        _check_shares(self.same, "same of the answers")
        _check_shares(self.similarity, "similarity of the answers")

    def __len__(self) -> int:
        return len(self.same)

    def place(self, i: int) -> str:
        """
        >>> one = np.zeros(1, dtype=np.int64)
        >>> JudgedAnswers(one, one, one, one, line=np.array([17])).place(0), JudgedAnswers(one, one, one, one).place(0)
        ('line 17', 'row 0')
        """
        return f"row {i}" if self.line is None else f"{self.unit} {self.line[i]}"

    def contradicted(self) -> np.ndarray:
        """Positions of the answers where the model says the opposite, the largest |same - similarity| first."""
        same, similarity = np.asarray(self.same), np.asarray(self.similarity)
        answer = hard_answers(same)
        opposed = np.flatnonzero((answer >= 0) & ((similarity > 0.5) != (answer == 1)))
        return opposed[np.argsort(-np.abs(same - similarity)[opposed], kind="stable")]


@dataclass(frozen=True, eq=False)
class SortedItems:
    """The items, each in the class that the model found for it."""

    classes: Sequence[str]  # (K,) the name of each class
    outputs: np.ndarray  # (n,) the class of each item, 0 to K-1
    probabilities: np.ndarray  # (n,) the probability of that class
    images: Pictures | None = None
    ids: Sequence[object] | np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.outputs)
        if len(self.probabilities) != n:
            raise InputError(f"Each of {n} items must have a probability, got {len(self.probabilities)}.")
        if n and not 0 <= np.min(self.outputs) <= np.max(self.outputs) < len(self.classes):
            raise InputError(
                f"outputs must be between 0 and {len(self.classes) - 1}: there are {len(self.classes)} classes."
            )
        if self.ids is not None and len(self.ids) != n:
            raise InputError(f"Each of {n} items must have an id, got {len(self.ids)} ids.")
        _check_shares(self.probabilities, "probabilities")
        check_pictures(self.images, n)

    def __len__(self) -> int:
        return len(self.outputs)

    def name(self, i: int) -> str:
        """The id of an item, or its position where it has none."""
        return f"item {i}" if self.ids is None else str(self.ids[i])

    def check(self, answers: JudgedAnswers) -> None:
        """Refuse answers about items that are not there."""
        for column in (answers.left, answers.right):
            if len(column) and not 0 <= np.min(column) <= np.max(column) < len(self):
                raise InputError(
                    f"Answers must be about items 0 to {len(self) - 1}, got {np.min(column)} to {np.max(column)}."
                )


def _check_shares(values: np.ndarray, name: str) -> None:
    try:
        as_shares(values, name)
    except ValueError as error:
        raise InputError(str(error)) from error
