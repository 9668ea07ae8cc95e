"""The page of a classifier learned from a few labels and many items without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.errors import InputError
from likewise.estimators import SemiSupervisedClassifier
from likewise.evaluation import confusion
from likewise.reporting.confusion_matrix import Matrix, confusion_matrix
from likewise.reporting.curves import History, held_out_section
from likewise.reporting.gallery import ClassifiedItems, Preview, class_table
from likewise.reporting.page import Card, Report, certainty, share_card, write_page

MOST_SUSPECTS = 24

LEARNED = """\
A network with {outputs} outputs was given {items:,} items and the labels of {labels:,} of them. It learned from these \
labels first, and then {method}."""
METHODS = {
    "supervised": "from nothing else",
    "pseudo-label": "from all items, taking for the truth what it holds most likely (Pseudo-Label)",
    "pi-model": "from all items, with the same answer to two views of one (the Pi-model)",
    "vat": "from all items, with the same answer after the change that upsets it most (VAT)",
    "spn-mcl": "from all pairs of items, by what a similarity network made of the labels says of them (SPN-MCL)",
    "pseudo-mcl": "from all pairs of items, by what it says of them itself (Pseudo-MCL)",
    "pseudo-mcl+": "from the pairs of items that it is sure of (Pseudo-MCL+)",
}
MEASURED = (
    "{held_out:,} further labels were held out: the network did not learn from them, and its figures are for them."
)
UNMEASURED = "No labels were held out, so nothing here says how right it is about items without a label."


@dataclass(frozen=True, eq=False)
class ItemLabels:
    """The labels of some items, of which some may have been held out."""

    items: np.ndarray  # (m,) positions
    labels: Sequence[str]  # (m,)
    held_out: np.ndarray  # (m,) bool

    def __post_init__(self) -> None:
        if not len(self.items) == len(self.labels) == len(self.held_out):
            sizes = f"{len(self.items)} items, {len(self.labels)} labels and {len(self.held_out)} held_out"
            raise InputError(f"Columns of labels must be equally long, got {sizes}.")

    def __len__(self) -> int:
        return len(self.labels)

    def agree(self, items: ClassifiedItems) -> np.ndarray:
        """(m,) Whether each label is the class of its item."""
        if not len(self):
            return np.empty(0, dtype=np.bool_)
        return np.asarray(np.array(items.classes)[items.outputs[self.items]] == np.asarray(self.labels))


class LabelSuspect(NamedTuple):
    """A label that the model contradicts."""

    name: str
    label: str
    model: str
    preview: Preview | None


def report_labels(model: SemiSupervisedClassifier, items: ClassifiedItems, labels: ItemLabels, *, out: Path) -> Report:
    """Write the page of a fitted model."""
    learned = LEARNED.format(
        outputs=model.n_outputs_, items=len(items), labels=model.n_labelled_, method=METHODS[model.method_]
    )
    n_held_out = int(np.sum(labels.held_out))
    measured = MEASURED.format(held_out=n_held_out) if n_held_out else UNMEASURED
    write_labels_page(
        out,
        items,
        labels,
        title=f"{len(items.classes)} classes, learned from {model.n_labelled_:,} labels",
        summary=f"{learned}\n\n{measured}",
        history=model.history_,
    )
    wrong = int((~labels.agree(items)).sum())
    return Report(out, f"The classifier disagrees with {wrong:,} of {len(labels):,} labels.")


def write_labels_page(
    path: Path | str, items: ClassifiedItems, labels: ItemLabels, *, title: str, summary: str, history: History
) -> None:
    """Write how right the model is on labels held out, how it learned, what it found, and which labels to check.

    A label that is no class, because its name was changed since, counts as wrong.
    """
    items.check_positions(labels.items, "Labels")
    right = labels.agree(items)
    suspects = _suspects(items, labels, right)
    write_page(
        path,
        "labels.html",
        title=title,
        summary=summary,
        cards=_cards(items, labels, right),
        measured=bool(np.any(labels.held_out)),
        matrix=_matrix(items, labels),
        curves=held_out_section(history, held_out="labels", stages="items"),
        classes=class_table(items),
        n_labels=len(labels),
        n_suspects=len(suspects),
        suspects=[_suspect(items, labels, i) for i in suspects[:MOST_SUSPECTS]],
    )


def _cards(items: ClassifiedItems, labels: ItemLabels, right: np.ndarray) -> list[Card]:
    held_out = np.asarray(labels.held_out, dtype=np.bool_)
    n, learned = int(held_out.sum()), len(labels) - int(held_out.sum())
    unlabelled = len(items) - len(labels)
    return [
        *([share_card("Held-out labels right", int(right[held_out].sum()), n, "held-out labels")] if n else []),
        Card("Labels learned from", f"{learned:,}", detail=f"{int(right[~held_out].sum()):,} of them right"),
        Card("Items", f"{len(items):,}", detail=f"{unlabelled:,} of them without a label"),
        Card("Classes", f"{len(items.classes):,}"),
    ]


def _matrix(items: ClassifiedItems, labels: ItemLabels) -> Matrix | None:
    place = {name: number for number, name in enumerate(items.classes)}
    truth = np.array([place.get(label, -1) for label in labels.labels], dtype=np.int64)
    counted = np.asarray(labels.held_out, dtype=np.bool_) & (truth >= 0)
    if not counted.any():
        return None
    k = len(items.classes)
    counts = confusion(items.outputs[labels.items[counted]], truth[counted], k, k)
    return confusion_matrix(counts, np.arange(k), items.classes, output_names=[""] * k)


def _suspects(items: ClassifiedItems, labels: ItemLabels, right: np.ndarray) -> list[int]:
    """The labels that the model contradicts, the surest first."""
    wrong = np.flatnonzero(~right)
    sure = np.asarray(items.probabilities)[labels.items[wrong]]
    order: list[int] = wrong[np.argsort(-sure, kind="stable")].tolist()
    return order


def _suspect(items: ClassifiedItems, labels: ItemLabels, i: int) -> LabelSuspect:
    item = int(labels.items[i])
    model = f"{items.classes[items.outputs[item]]}, {certainty(float(items.probabilities[item]))}"
    return LabelSuspect(items.name(item), labels.labels[i], model, items.preview(item))
