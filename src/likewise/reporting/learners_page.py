"""The page of learners on labelled test items: what each found, beside the true classes and beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from likewise.errors import InputError
from likewise.reporting.confusion_matrix import class_name, confusion_matrix, output_order
from likewise.reporting.curves import learners_section
from likewise.reporting.drawing import learner_colour
from likewise.reporting.gallery import (
    MOST_CLASSES,
    ClassRow,
    ClassTable,
    Entry,
    Preview,
    Previews,
    check_previews,
    entries_per_side,
    most_and_least_certain,
    preview,
)
from likewise.reporting.page import Card, count, write_page

MOST_DISAGREEMENTS = 36  # items shown where learners differ
SCORE_NAMES = {"nmi": "NMI", "ari": "ARI", "pair_f1": "pair F1"}


@dataclass(frozen=True, eq=False)
class Learner:
    """One classifier on the page; items are the test items, in the same order for every learner.

    An output is what the network gives, 0 to K-1; a class is what a person calls it, 0 to C-1. `matching` leads from
    one to the other. Without labels, `confusion` has no columns and `matching` is -1 throughout.

    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> def learner(name, outputs, labels=np.array([0, 0, 1, 1])):
    ...     counts = confusion(np.array(outputs), labels, 2, 2)
    ...     matching = match_outputs(counts)
    ...     history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    ...     return Learner(name, history, counts, matching, scores(counts, matching), np.array(outputs), np.ones(4))
    >>> learner("pairs", [1, 1, 0, 0]).predictions
    array([0, 0, 1, 1])
    """

    name: str
    history: Sequence[Mapping[str, float]]  # one row per epoch: epoch, loss, accuracy, test_accuracy
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


class Verdict(NamedTuple):
    """What one learner says of an item."""

    learner: str
    colour: str
    name: str  # of the class
    right: bool | None  # None where the true class is unknown


class Disagreement(NamedTuple):
    """An item that learners put in different classes."""

    truth: str
    preview: Preview | None
    verdicts: Sequence[Verdict]


def write_learners_page(
    path: Path | str,
    *,
    title: str,
    summary: str,
    learners: Sequence[Learner],
    labels: np.ndarray,
    class_names: Sequence[str],
    previews: Previews | None = None,
    disagreements: Sequence[int] | None = None,
    facts: Sequence[Card] = (),
) -> None:
    """Write the page. The first learner is its subject; the others stand beside it.

    `labels` (n,) are the classes of the test items, -1 where unknown; `previews` their pictures, such as an array
    (n, C, H, W) of bytes, or None for feature vectors. `disagreements` are the items to show where learners differ; by
    default all of them. `facts` are further cards, such as Card("Pairs", "500,000"). A section that has nothing to show
    is left out.

    >>> import tempfile
    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> labels, outputs = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    >>> counts = confusion(outputs, labels, 2, 2)
    >>> matching = match_outputs(counts)
    >>> history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    >>> learner = Learner("pairs", history, counts, matching, scores(counts, matching), outputs, np.ones(4))
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> names = ["cat", "dog"]
    >>> write_learners_page(path, title="Pets", summary="", learners=[learner], labels=labels, class_names=names)
    >>> "Pets" in path.read_text("utf-8")
    True
    """
    labels = np.asarray(labels)
    _check(learners, labels, class_names, previews)
    first = learners[0]
    differ = find_disagreements(learners) if disagreements is None else disagreements
    write_page(
        path,
        "learners.html",
        title=title,
        summary=summary,
        cards=[*_cards(learners, len(labels)), *facts],
        curves=learners_section({learner.name: learner.history for learner in learners}),
        learner=first.name,
        matrix=confusion_matrix(first.confusion, first.matching, class_names) if np.sum(first.confusion) else None,
        n_unmatched=int(np.sum(np.asarray(first.matching) < 0)),
        missing=[str(name) for c, name in enumerate(class_names) if c not in first.matching],
        labelled=bool((labels >= 0).any()),
        classes=None if previews is None else _classes(first, previews, labels, class_names),
        n_learners=len(learners),
        n_items=len(labels),
        n_differ=len(differ),
        differ=[_disagreement(learners, i, previews, labels, class_names) for i in differ[:MOST_DISAGREEMENTS]],
    )


def find_disagreements(learners: Sequence[Learner]) -> list[int]:
    """The positions of the items that the learners put in different classes; none for a single learner.

    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> def learner(name, outputs, labels=np.array([0, 0, 1, 1])):
    ...     counts = confusion(np.array(outputs), labels, 2, 2)
    ...     matching = match_outputs(counts)
    ...     history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    ...     return Learner(name, history, counts, matching, scores(counts, matching), np.array(outputs), np.ones(4))
    >>> find_disagreements([learner("pairs", [1, 1, 0, 0]), learner("labels", [0, 0, 1, 0])])
    [3]
    """
    if len(learners) < 2:
        return []
    predictions = np.stack([learner.predictions for learner in learners])  # (learners, n)
    return [int(i) for i in np.flatnonzero((predictions != predictions[0]).any(axis=0))]


def _cards(learners: Sequence[Learner], n_items: int) -> list[Card]:
    cards = []
    for place, learner in enumerate(learners):
        if "accuracy" not in learner.scores:
            continue
        measured = {name: learner.scores[key] for key, name in SCORE_NAMES.items() if key in learner.scores}
        detail = ", ".join(f"{name} {value:.3f}".replace(" ", "\N{NO-BREAK SPACE}") for name, value in measured.items())
        share = f"{100 * learner.scores['accuracy']:.1f}"
        cards.append(Card(learner.name, share, "% right", detail, learner_colour(place)))
    if len(learners) == 2 and len(cards) == 2:
        points = 100 * (learners[0].scores["accuracy"] - learners[1].scores["accuracy"])
        value = f"{points:+.1f}".replace("-", "\N{MINUS SIGN}") if abs(points) >= 0.05 else "0.0"
        cards.append(Card("Difference", value, "points", f"first minus second, on {n_items:,} test items"))
    return cards


def _classes(learner: Learner, previews: Previews, labels: np.ndarray, class_names: Sequence[str]) -> ClassTable:
    """A row for each output: how many items it holds, and its most and least certain ones, mistakes outlined."""
    outputs = output_order(learner.matching)
    rows = []
    for k in outputs[:MOST_CLASSES]:
        own = int(learner.matching[k])
        members = np.flatnonzero(np.asarray(learner.outputs) == k)
        n = entries_per_side(previews)
        most, least = (
            [_entry(learner, i, previews, labels, class_names) for i in positions]
            for positions in most_and_least_certain(members, np.asarray(learner.probabilities), n)
        )
        notes = (f"output {k}" if own >= 0 else "unmatched", _items(labels[members], own))
        rows.append(ClassRow(class_name(own, class_names, f"Output {k}"), len(members), notes, most, least))
    return ClassTable(rows, len(outputs), previews=True)


def _entry(learner: Learner, i: int, previews: Previews, labels: np.ndarray, class_names: Sequence[str]) -> Entry:
    truth = int(labels[i])
    probability, name = float(learner.probabilities[i]), class_name(truth, class_names)
    mistake = truth >= 0 and truth != int(learner.predictions[i])
    description = f"{'mistake, ' if mistake else ''}item {i}, true class {name}, certainty {probability:.3f}"
    return Entry(f"item {i}", probability, preview(previews[i], description), name if mistake else "", mistake)


def _items(labels: np.ndarray, own: int) -> str:
    """Such as: 36 items, 35 right."""
    known = labels[labels >= 0]
    right = f", {int((known == own).sum())} right" if own >= 0 and len(known) else ""
    return count(len(labels), "item", "items") + right


def _disagreement(
    learners: Sequence[Learner], i: int, previews: Previews | None, labels: np.ndarray, class_names: Sequence[str]
) -> Disagreement:
    truth = int(labels[i])
    name = class_name(truth, class_names)
    shown = None if previews is None else preview(previews[i], f"item {i}, true class {name}")
    verdicts = []
    for place, learner in enumerate(learners):
        said = int(learner.predictions[i])
        right = None if truth < 0 else said == truth
        verdicts.append(Verdict(learner.name, learner_colour(place), class_name(said, class_names, "unmatched"), right))
    return Disagreement(name, shown, verdicts)


def _check(
    learners: Sequence[Learner], labels: np.ndarray, class_names: Sequence[str], previews: Previews | None
) -> None:
    if not learners:
        raise InputError("A report needs at least one learner.")
    if len({learner.name for learner in learners}) < len(learners):
        raise InputError("Learners in one report need different names.")
    if len(labels) and np.max(labels) >= len(class_names):
        raise InputError(f"Label {np.max(labels)} has no name: {len(class_names)} class names were given.")
    for learner in learners:
        if len(learner.outputs) != len(labels):
            raise InputError(f"{learner.name}: has {len(learner.outputs)} outputs for {len(labels)} labels.")
        columns = learner.confusion.shape[1]
        if columns != len(class_names) or np.max(learner.matching, initial=-1) >= columns:
            raise InputError(
                f"{learner.name}: confusion and matching must be about the {len(class_names)} named classes, "
                f"got {columns} columns and classes up to {np.max(learner.matching, initial=-1)}."
            )
    check_previews(previews, len(labels))
