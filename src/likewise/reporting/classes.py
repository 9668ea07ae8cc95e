"""The items in the classes that a model put them in, and the most and least certain of each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likewise.errors import InputError
from likewise.evaluation.calibration import as_shares
from likewise.reporting.page import certainty, count
from likewise.reporting.previews import Preview, Previews, check_previews, preview

SHOWN = {"pixels": 7, "photo": 8, "text": 5}  # most certain items of a class, and as many least certain ones
NAMES = 4  # of each kind in the row of a class without previews
MOST_CLASSES = 30  # rows of a gallery


@dataclass(frozen=True, eq=False)
class ClassifiedItems:
    """The items, each with the class that the model puts it in."""

    classes: Sequence[str]  # (K,) the name of each class
    outputs: np.ndarray  # (n,) the class of each item, 0 to K-1
    probabilities: np.ndarray  # (n,) the probability of that class
    previews: Previews | None = None
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
        check_shares(self.probabilities, "probabilities")
        check_previews(self.previews, n)

    def __len__(self) -> int:
        return len(self.outputs)

    def name(self, i: int) -> str:
        """The id of an item, or its position where it has none."""
        return f"item {i}" if self.ids is None else str(self.ids[i])

    def preview(self, i: int, description: str = "") -> Preview | None:
        return None if self.previews is None else preview(self.previews[i], description or self.name(i))

    def check_positions(self, positions: np.ndarray, what: str) -> None:
        """Refuse answers or labels of items that are not there."""
        if len(positions) and not 0 <= np.min(positions) <= np.max(positions) < len(self):
            span = f"{np.min(positions)} to {np.max(positions)}"
            raise InputError(f"{what} must be about items 0 to {len(self) - 1}, got {span}.")


@dataclass(frozen=True)
class Entry:
    """One item in the row of its class."""

    name: str
    certainty: float
    preview: Preview | None
    note: str = ""  # beneath its preview
    mistake: bool = False


@dataclass(frozen=True)
class ClassRow:
    """One class: its name, some lines about it, and its most and least certain items."""

    name: str
    size: int
    notes: Sequence[str]
    most: Sequence[Entry]
    least: Sequence[Entry]


@dataclass(frozen=True)
class ClassTable:
    """The classes that a page shows, of so many."""

    rows: Sequence[ClassRow]
    n: int
    previews: bool


def class_table(items: ClassifiedItems, most_classes: int = MOST_CLASSES) -> ClassTable:
    """A row for each class; where items have previews, for at most so many classes."""
    shown = len(items.classes) if items.previews is None else most_classes
    rows = []
    for k, name in enumerate(items.classes[:shown]):
        members = np.flatnonzero(items.outputs == k)
        n = entries_per_side(items.previews)
        most, least = most_and_least_certain(members, np.asarray(items.probabilities), n)
        rows.append(
            ClassRow(
                str(name),
                len(members),
                [count(len(members), "item", "items")],
                [_entry(items, i, noted=False) for i in most],
                [_entry(items, i, noted=True) for i in least],
            )
        )
    return ClassTable(rows, len(items.classes), items.previews is not None)


def entries_per_side(previews: Previews | None) -> int:
    """How many of the most certain items of a class are shown, and how many of the least certain: photos take more
    room than drawings, and texts more than photos."""
    if previews is None or not len(previews):
        return NAMES
    return SHOWN[preview(previews[0], "").kind]


def most_and_least_certain(members: np.ndarray, certainty: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Up to `n` positions of each kind, most certain first and least certain first; no item is in both.

    >>> most_and_least_certain(np.array([0, 2, 3]), np.array([0.5, 0.9, 0.7, 0.8]), 2)
    ([3, 2], [0])
    """
    falling = members[np.argsort(-certainty[members], kind="stable")].tolist()
    n_most = min(n, (len(falling) + 1) // 2)
    return falling[:n_most], falling[n_most:][::-1][:n]


def check_shares(values: np.ndarray, name: str) -> None:
    try:
        as_shares(values, name)
    except ValueError as error:
        raise InputError(str(error)) from error


def _entry(items: ClassifiedItems, i: int, *, noted: bool) -> Entry:
    probability = float(items.probabilities[i])
    shown = items.preview(i, f"{items.name(i)}, certainty {probability:.3f}")
    return Entry(items.name(i), probability, shown, note=certainty(probability, digits=0) if noted else "")
