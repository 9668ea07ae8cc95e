"""The report: one self-contained HTML page, with no script and nothing to fetch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

import numpy as np

from likewise.errors import InputError
from likewise.files import write_whole
from likewise.reporting.figures import learning_curve, svg
from likewise.reporting.gallery import differing_items, found_classes
from likewise.reporting.learner import Learner, find_disagreements, output_order
from likewise.reporting.matrix import confusion_matrix
from likewise.reporting.style import STYLE_SHEET, learner_colour

MOST_CLASSES = 30  # rows of the gallery
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
    feature vectors. A blank line in `summary` starts a paragraph. `disagreements` are the items to show where learners
    differ; by default all of them. `facts` become further cards, such as {"Training pairs": "500,000"}. A section
    that has nothing to show is left out.

    A reader finds the whole page or what was there before; the folder of `path` is made where it is missing.
    """
    labels = np.asarray(labels)
    _check(learners, labels, class_names, images)
    if disagreements is None:
        disagreements = find_disagreements(learners)
    sections = [
        _cards(learners, len(labels), facts or {}),
        _curves(learners),
        _confusion(learners[0], class_names),
        _gallery(learners[0], images, labels, class_names),
        _disagreements(learners, disagreements, images, labels, class_names),
    ]
    paragraphs = "".join(f"<p>{escape(text.strip())}</p>" for text in summary.split("\n\n") if text.strip())
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE_SHEET}</style></head>\n"
        f"<body><main>\n<header><h1>{escape(title)}</h1>{paragraphs}</header>\n"
        + "\n".join(section for section in sections if section)
        + "\n<footer>Written by Likewise. This file needs nothing else: keep it, send it, open it anywhere.</footer>\n"
        "</main></body></html>\n"
    )
    write_whole(Path(path), page)


def _cards(learners: Sequence[Learner], n_items: int, facts: Mapping[str, str]) -> str:
    cards = []
    for place, learner in enumerate(learners):
        measured = {name: learner.scores[key] for key, name in SCORE_NAMES.items() if key in learner.scores}
        detail = ", ".join(f"{name} {value:.3f}".replace(" ", "\N{NO-BREAK SPACE}") for name, value in measured.items())
        dot = f'<span class="dot {learner_colour(place)}"></span>'
        if "accuracy" in learner.scores:
            cards.append(_card(dot + escape(learner.name), _percent(learner.scores["accuracy"]), detail))
    if len(learners) == 2 and all("accuracy" in learner.scores for learner in learners):
        points = 100 * (learners[0].scores["accuracy"] - learners[1].scores["accuracy"])
        value = f"{points:+.1f}".replace("-", "\N{MINUS SIGN}")
        cards.append(
            _card("Difference", f"{value} <small>points</small>", f"first minus second, on {n_items:,} test items")
        )
    cards += [_card(escape(name), escape(value), "") for name, value in facts.items()]
    return '<div class="cards">' + "\n".join(cards) + "</div>" if cards else ""


def _curves(learners: Sequence[Learner]) -> str:
    histories = {learner.name: learner.history for learner in learners}
    figure = learning_curve(histories)
    if not figure.axes:
        return ""
    label = "Accuracy and training loss by epoch: " + ", ".join(histories)
    wide = svg(figure, label, prefix="wide", classes="drawing wide")
    narrow = svg(learning_curve(histories, size=(3.6, 5.2)), label, prefix="narrow", classes="drawing narrow")
    note = "Accuracy and training loss after each epoch."
    if len(learners) > 1:
        note += " Losses of different kinds compare in their course, not in their height."
    return _section("How it learned", note, f"{wide}\n{narrow}")


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
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="Confusion matrix">{table}</div>'
    return _section("What it found, beside the true classes", about, legend + scroll + note)


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
    return _section("The classes, one by one", about, f"{legend}<div>{rows}</div>")


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
    return _section("Where they differ", about, items if len(positions) else "")


def _section(title: str, about: str, body: str) -> str:
    lead = f'<p class="about">{escape(about)}</p>' if about else ""
    panel = f'<div class="panel">{body}</div>' if body else ""
    return f"<section><h2>{escape(title)}</h2>{lead}\n{panel}</section>"


def _card(name: str, value: str, detail: str) -> str:
    small = f'<p class="detail">{escape(detail)}</p>' if detail else ""
    return f'<div class="card"><p class="value">{value}</p><h2>{name}</h2>{small}</div>'


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
    if images is not None and (images.dtype != np.uint8 or images.ndim != 4 or len(images) != len(labels)):
        raise InputError(
            f"Images must be bytes of shape ({len(labels)}, channels, height, width), "
            f"got {images.dtype} of shape {images.shape}."
        )
