"""The report of learners on labelled test items: what they found, beside the true classes and each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from likewise.errors import InputError
from likewise.reporting.curves import learning_curve
from likewise.reporting.drawing import both_sizes
from likewise.reporting.gallery import MOST_CLASSES, check_pictures
from likewise.reporting.learner import Learner, find_disagreements, output_order
from likewise.reporting.learners_gallery import differing_items, found_classes
from likewise.reporting.matrix import confusion_matrix
from likewise.reporting.page import card, card_row, scrolling, section, write_page
from likewise.reporting.style import learner_colour

MOST_DISAGREEMENTS = 36  # items shown where learners differ
SCORE_NAMES = {"nmi": "NMI", "ari": "ARI", "pair_f1": "pair F1"}


def write_report(
    path: Path | str,
    *,
    title: str,
    summary: str,
    learners: Sequence[Learner],
    labels: np.ndarray,
    class_names: Sequence[str],
    images: np.ndarray | None = None,
    disagreements: Sequence[int] | None = None,
    facts: Mapping[str, str] | None = None,
) -> None:
    """Write the page. The first learner is its subject; the others stand beside it.

    `labels` (n,) are the classes of the test items, -1 where unknown; `images` (n, C, H, W) their bytes, or None for
    feature vectors. `disagreements` are the items to show where learners differ; by default all of them. `facts`
    become further cards, such as {"Training pairs": "500,000"}. A section that has nothing to show is left out.

    >>> import tempfile
    >>> from likewise.evaluation import confusion, match_outputs, scores
    >>> labels, outputs = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    >>> counts = confusion(outputs, labels, 2, 2)
    >>> found = match_outputs(counts)
    >>> history = [{"epoch": 1, "loss": 0.5, "accuracy": 0.9, "test_accuracy": 0.9}]
    >>> learner = Learner("pairs", history, counts, found, scores(counts, found), outputs, np.ones(4))
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(path, title="Pets", summary="", learners=[learner], labels=labels, class_names=["cat", "dog"])
    >>> "Pets" in path.read_text("utf-8")
    True
    """
    labels = np.asarray(labels)
    _check(learners, labels, class_names, images)
    if disagreements is None:
        disagreements = find_disagreements(learners)
    sections = [
        _cards(learners, len(labels), facts),
        _curves(learners),
        _confusion(learners[0], class_names),
        _gallery(learners[0], images, labels, class_names),
        _disagreements(learners, disagreements, images, labels, class_names),
    ]
    write_page(path, title=title, summary=summary, sections=sections)


def _cards(learners: Sequence[Learner], n_items: int, facts: Mapping[str, str] | None) -> str:
    cards = []
    for place, learner in enumerate(learners):
        measured = {name: learner.scores[key] for key, name in SCORE_NAMES.items() if key in learner.scores}
        detail = ", ".join(f"{name} {value:.3f}".replace(" ", "\N{NO-BREAK SPACE}") for name, value in measured.items())
        dot = f'<span class="dot {learner_colour(place)}"></span>'
        if "accuracy" in learner.scores:
            cards.append(card(dot + escape(learner.name), _percent(learner.scores["accuracy"]), detail))
    if len(learners) == 2 and all("accuracy" in learner.scores for learner in learners):
        points = 100 * (learners[0].scores["accuracy"] - learners[1].scores["accuracy"])
        value = f"{points:+.1f}".replace("-", "\N{MINUS SIGN}")
        cards.append(
            card("Difference", f"{value} <small>points</small>", f"first minus second, on {n_items:,} test items")
        )
    return card_row(cards, facts)


def _curves(learners: Sequence[Learner]) -> str:
    histories = {learner.name: learner.history for learner in learners}
    label = "Accuracy and training loss by epoch: " + ", ".join(histories)
    figure = both_sizes(lambda size: learning_curve(histories, size=size), label, prefix="curve")
    if not figure:
        return ""
    note = "Accuracy and training loss after each epoch."
    if len(learners) > 1:
        note += " Losses of different kinds compare in their course, not in their height."
    return section("How it learned", note, figure)


def _confusion(learner: Learner, class_names: Sequence[str]) -> str:
    if not np.sum(learner.confusion):
        return ""
    about = (
        f"{learner.name}: each output was matched with one class, so that as many items as possible agree. "
        "Rows are outputs, columns are true classes, and a cell holds the test items that fell there."
    )
    legend = (
        '<ul class="legend"><li><span class="swatch right"></span>right</li>'
        '<li><span class="swatch wrong"></span>mistakes</li><li>deeper: a larger share of the row</li></ul>'
    )
    table = confusion_matrix(learner.confusion, learner.matching, class_names)
    notes = []
    if unmatched := int(np.sum(np.asarray(learner.matching) < 0)):
        notes.append(f"Unmatched outputs: {unmatched}. The items in them count as mistakes.")
    if missing := [str(name) for c, name in enumerate(class_names) if c not in learner.matching]:
        notes.append(f"Classes without an output: {', '.join(missing)}.")
    note = f'<p class="note">{escape(" ".join(notes))}</p>' if notes else ""
    return section(
        "What it found, beside the true classes", about, legend + scrolling("Confusion matrix", table) + note
    )


def _gallery(learner: Learner, images: np.ndarray | None, labels: np.ndarray, class_names: Sequence[str]) -> str:
    if images is None:
        return ""
    outputs = output_order(learner.matching)
    about = f"{learner.name}: the test items that it put in each class, those it was surest of and those it was not."
    if len(outputs) > MOST_CLASSES:
        about += f" The first {MOST_CLASSES} of {len(outputs)} classes."
    legend = (
        '<ul class="legend"><li><span class="swatch mistake"></span>a mistake, with its true class beneath</li></ul>'
        if (labels >= 0).any()
        else ""
    )
    rows = found_classes(learner, outputs[:MOST_CLASSES], images, labels, class_names)
    return section("The classes, one by one", about, f"{legend}<div>{rows}</div>")


def _disagreements(
    learners: Sequence[Learner],
    positions: Sequence[int],
    images: np.ndarray | None,
    labels: np.ndarray,
    class_names: Sequence[str],
) -> str:
    if len(learners) < 2:
        return ""
    about = f"The learners give different answers for {len(positions)} of {len(labels):,} test items."
    if len(positions) > MOST_DISAGREEMENTS:
        about += f" The first {MOST_DISAGREEMENTS} are shown."
    items = differing_items(learners, positions[:MOST_DISAGREEMENTS], images, labels, class_names)
    return section("Where they differ", about, items if len(positions) else "")


def _percent(share: float) -> str:
    return f"{100 * share:.1f} <small>% right</small>"


def _check(
    learners: Sequence[Learner], labels: np.ndarray, class_names: Sequence[str], images: np.ndarray | None
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
                f"{learner.name}: confusion and matching must speak of the {len(class_names)} named classes, "
                f"got {columns} columns and classes up to {np.max(learner.matching, initial=-1)}."
            )
    check_pictures(images, len(labels))
