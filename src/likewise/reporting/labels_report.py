"""The report of a classifier learned from a few labels and many items without one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np

from likewise.errors import InputError
from likewise.evaluation import confusion
from likewise.reporting.class_gallery import classes_section
from likewise.reporting.curves import History, curve_section
from likewise.reporting.gallery import Pictures, thumbnail
from likewise.reporting.judged import SortedItems
from likewise.reporting.matrix import confusion_matrix
from likewise.reporting.page import card, card_row, certainty, count, scrolling, section, share_card, write_page

MOST_SUSPECTS = 24


@dataclass(frozen=True, eq=False)
class JudgedLabels:
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


def write_labels_report(
    path: Path | str,
    *,
    title: str,
    summary: str,
    history: History,
    classes: Sequence[str],
    outputs: np.ndarray,
    probabilities: np.ndarray,
    labels: JudgedLabels,
    images: Pictures | None = None,
    ids: Sequence[object] | np.ndarray | None = None,
) -> None:
    """Write the page: how right the model is on labels held out, how it learned, what it found, which labels to check.

    `classes`, `outputs`, `probabilities`, `images` and `ids` are as for `write_answers_report`. A label that is no
    class, because its name was changed since, counts as wrong.
    """
    items = SortedItems(list(classes), np.asarray(outputs), np.asarray(probabilities), images, ids)
    if len(labels) and not 0 <= np.min(labels.items) <= np.max(labels.items) < len(items):
        span = f"{np.min(labels.items)} to {np.max(labels.items)}"
        raise InputError(f"Labels must be of items 0 to {len(items) - 1}, got {span}.")
    found = np.array(list(classes))[items.outputs[labels.items]] if len(labels) else np.empty(0, dtype=str)
    right = found == np.asarray(labels.labels)  # (m,)
    sections = [
        _cards(items, labels, right),
        _matrix(items, labels),
        curve_section(history, told="labels", later="items"),
        classes_section(items),
        _suspects(items, labels, right),
    ]
    write_page(path, title=title, summary=summary, sections=sections)


def _cards(items: SortedItems, labels: JudgedLabels, right: np.ndarray) -> str:
    held_out = np.asarray(labels.held_out, dtype=np.bool_)
    n, learned = int(held_out.sum()), len(labels) - int(held_out.sum())
    cards = [share_card("Held-out labels right", int(right[held_out].sum()), n, "held-out labels")] if n else []
    unlabelled = len(items) - len(labels)
    cards += [
        card("Labels learned from", f"{learned:,}", f"{int(right[~held_out].sum()):,} of them right"),
        card("Items", f"{len(items):,}", f"{unlabelled:,} of them without a label"),
        card("Classes", f"{len(items.classes):,}"),
    ]
    return card_row(cards, None, "In brackets the 95 % interval." if n else "")


def _matrix(items: SortedItems, labels: JudgedLabels) -> str:
    place = {name: number for number, name in enumerate(items.classes)}
    truth = np.array([place.get(label, -1) for label in labels.labels], dtype=np.int64)
    told = np.asarray(labels.held_out, dtype=np.bool_) & (truth >= 0)
    if not told.any():
        return ""
    k = len(items.classes)
    counts = confusion(items.outputs[labels.items[told]], truth[told], k, k)
    about = "The class found for each item whose label was held out, by its label."
    table = scrolling("Confusion matrix", confusion_matrix(counts, np.arange(k), items.classes))
    return section("What it takes for what", about, table)


def _suspects(items: SortedItems, labels: JudgedLabels, right: np.ndarray) -> str:
    wrong = np.flatnonzero(~right)
    if not len(wrong):
        return section("Labels to check again", "The model agrees with every label.") if len(labels) else ""
    sure = np.asarray(items.probabilities)[labels.items]
    wrong = wrong[np.argsort(-sure[wrong], kind="stable")]
    about = f"The model says otherwise than {len(wrong):,} of {count(len(labels), 'label', 'labels')}."
    if len(wrong) > MOST_SUSPECTS:
        about += f" The {MOST_SUSPECTS} of which it is surest are shown."
    about += " Each is a slip in the labels or a mistake of the model: look again."
    entries = [_suspect(items, int(labels.items[i]), labels.labels[i]) for i in wrong[:MOST_SUSPECTS].tolist()]
    return section("Labels to check again", about, '<ul class="suspects">' + "\n".join(entries) + "</ul>")


def _suspect(items: SortedItems, item: int, label: str) -> str:
    picture = "" if items.images is None else thumbnail(items.images[item], items.name(item))
    said = f"{items.classes[items.outputs[item]]}, {certainty(float(items.probabilities[item]))}"
    rows = f"<dt>Label</dt><dd>{escape(label)}</dd><dt>Model</dt><dd>{escape(said)}</dd>"
    return f"<li>{picture}<div><h3>{escape(items.name(item))}</h3><dl>{rows}</dl></div></li>"
