"""Contact sheets: small images embedded in the page, by the class found and where learners differ."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import numpy as np
from PIL import Image

from likewise.reporting.learner import Learner, class_name
from likewise.reporting.style import learner_colour

LARGEST_SIDE = 96  # pixels; larger images are reduced, as a thumbnail shows no more
SMALLEST_SMOOTH_SIDE = 48  # smaller images are enlarged as squares, not blurred


def png_uri(image: np.ndarray) -> str:
    """An image (C, H, W) of bytes, grey (C = 1) or RGB (C = 3), as a PNG data URI.

    >>> png_uri(np.zeros((1, 8, 8), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    pixels = image[0] if len(image) == 1 else np.moveaxis(image[:3], 0, -1)  # (H, W) or (H, W, 3)
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    stream = io.BytesIO()
    picture.save(stream, format="PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def thumbnail(image: np.ndarray, description: str) -> str:
    """One image of a sheet; the description is read out and shown under the pointer."""
    pixels = " pixels" if max(image.shape[1:]) < SMALLEST_SMOOTH_SIDE else ""
    text = escape(description)
    return f'<img class="thumb{pixels}" src="{png_uri(image)}" alt="{text}" title="{text}">'


def most_and_least_certain(members: np.ndarray, certainty: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Up to `n` positions of each kind, most certain first and least certain first; no item is in both.

    >>> most_and_least_certain(np.array([0, 2, 3]), np.array([0.5, 0.9, 0.7, 0.8]), 2)
    ([3, 2], [0])
    """
    falling = members[np.argsort(-certainty[members], kind="stable")].tolist()
    n_most = min(n, (len(falling) + 1) // 2)
    return falling[:n_most], falling[n_most:][::-1][:n]


def found_classes(
    learner: Learner,
    outputs: Sequence[int],
    images: np.ndarray,
    labels: np.ndarray,
    class_names: Sequence[str],
    *,
    columns: int = 7,
) -> str:
    """A row for each of `outputs`: how many items it holds, and its most and least certain ones, mistakes outlined."""
    rows = []
    for k in outputs:
        own = int(learner.matching[k])
        members = np.flatnonzero(np.asarray(learner.outputs) == k)
        most, least = most_and_least_certain(members, np.asarray(learner.probabilities), columns)
        sheets = "".join(
            f'<div><h4>{title}</h4><ul class="sheet" style="--columns:{columns}">'
            f"{_entries(learner, positions, images, labels, class_names)}</ul></div>"
            for title, positions in (("Most certain", most), ("Least certain", least))
            if positions
        )
        name = class_name(own, class_names, f"Output {k}")
        count = _count(labels[members], own, name=f"output {k}" if own >= 0 else "unmatched")
        rows.append(f'<div class="found"><div><h3>{escape(name)}</h3><p>{count}</p></div>{sheets}</div>')
    return "\n".join(rows)


def differing_items(
    learners: Sequence[Learner],
    positions: Sequence[int],
    images: np.ndarray | None,
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


def _entries(
    learner: Learner, positions: Sequence[int], images: np.ndarray, labels: np.ndarray, class_names: Sequence[str]
) -> str:
    entries = []
    for i in positions:
        truth, said = int(labels[i]), int(learner.predictions[i])
        name = class_name(truth, class_names)
        description = f"item {i}, true class {name}, certainty {learner.probabilities[i]:.3f}"
        if truth >= 0 and truth != said:
            picture = thumbnail(images[i], f"mistake, {description}")
            entries.append(f'<li class="mistake">{picture}<span>{escape(name)}</span></li>')
        else:
            entries.append(f"<li>{thumbnail(images[i], description)}</li>")
    return "".join(entries)


def _answer(said: int, truth: int, class_names: Sequence[str]) -> str:
    name = escape(class_name(said, class_names, "unmatched"))
    if truth < 0:
        return f"<dd>{name}</dd>"
    if said == truth:
        return f'<dd class="hit">{name} <span role="img" aria-label="right">&check;</span></dd>'
    return f'<dd class="mistake">{name} <span role="img" aria-label="wrong">&cross;</span></dd>'


def _count(labels: np.ndarray, own: int, *, name: str) -> str:
    """Such as: output 3, 36 items, 35 right."""
    items = "no item" if len(labels) == 0 else "1 item" if len(labels) == 1 else f"{len(labels)} items"
    known = labels[labels >= 0]
    right = f", {int((known == own).sum())} right" if own >= 0 and len(known) else ""
    return f"{name}<br>{items}{right}"
