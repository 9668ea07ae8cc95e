"""What learners made of labelled items: the classes they found with their mistakes, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from likewise.reporting.gallery import COLUMNS, Pictures, found_class, most_and_least_certain, thumbnail
from likewise.reporting.learner import Learner, class_name
from likewise.reporting.page import count
from likewise.reporting.style import learner_colour


def found_classes(
    learner: Learner, outputs: Sequence[int], images: Pictures, labels: np.ndarray, class_names: Sequence[str]
) -> str:
    """A row for each of `outputs`: how many items it holds, and its most and least certain ones, mistakes outlined."""
    rows = []
    for k in outputs:
        own = int(learner.matching[k])
        members = np.flatnonzero(np.asarray(learner.outputs) == k)
        most, least = (
            [_entry(learner, i, images, labels, class_names) for i in positions]
            for positions in most_and_least_certain(members, np.asarray(learner.probabilities), COLUMNS)
        )
        notes = (f"output {k}" if own >= 0 else "unmatched", _items(labels[members], own))
        rows.append(found_class(class_name(own, class_names, f"Output {k}"), notes, most, least))
    return "\n".join(rows)


def differing_items(
    learners: Sequence[Learner],
    positions: Sequence[int],
    images: Pictures | None,
    labels: np.ndarray,
    class_names: Sequence[str],
) -> str:
    """For each position the image, the true class, and what every learner said."""
    entries = []
    for i in positions:
        truth = int(labels[i])
        answers = "".join(
            f'<dt><span class="dot {learner_colour(place)}"></span>{escape(learner.name)}</dt>'
            + _answer(int(learner.predictions[i]), truth, class_names)
            for place, learner in enumerate(learners)
        )
        image = "" if images is None else thumbnail(images[i], f"item {i}, true class {class_name(truth, class_names)}")
        said = f"<dl><dt>True class</dt><dd>{escape(class_name(truth, class_names))}</dd>{answers}</dl>"
        entries.append(f"<li>{image}{said}</li>")
    return '<ul class="differ">' + "\n".join(entries) + "</ul>"


def _entry(learner: Learner, i: int, images: Pictures, labels: np.ndarray, class_names: Sequence[str]) -> str:
    truth, said = int(labels[i]), int(learner.predictions[i])
    name = class_name(truth, class_names)
    description = f"item {i}, true class {name}, certainty {learner.probabilities[i]:.3f}"
    if truth >= 0 and truth != said:
        picture = thumbnail(images[i], f"mistake, {description}")
        return f'<li class="mistake">{picture}<span>{escape(name)}</span></li>'
    return f"<li>{thumbnail(images[i], description)}</li>"


def _answer(said: int, truth: int, class_names: Sequence[str]) -> str:
    name = escape(class_name(said, class_names, "unmatched"))
    if truth < 0:
        return f"<dd>{name}</dd>"
    if said == truth:
        return f'<dd class="hit">{name} <span role="img" aria-label="right">&check;</span></dd>'
    return f'<dd class="mistake">{name} <span role="img" aria-label="wrong">&cross;</span></dd>'


def _items(labels: np.ndarray, own: int) -> str:
    """Such as: 36 items, 35 right."""
    known = labels[labels >= 0]
    right = f", {int((known == own).sum())} right" if own >= 0 and len(known) else ""
    return count(len(labels), "item", "items") + right
