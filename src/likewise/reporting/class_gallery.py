"""The classes that a model found without labels: a gallery of them, or a table where items have no pictures."""

from __future__ import annotations

from html import escape

import numpy as np

from likewise.reporting.gallery import COLUMNS, MOST_CLASSES, Pictures, found_class, most_and_least_certain, thumbnail
from likewise.reporting.judged import SortedItems
from likewise.reporting.page import certainty, count, section

IDS = 4  # of each kind in the row of a class


def classes_section(items: SortedItems, most: int = MOST_CLASSES) -> str:
    """The items in each class, as pictures of at most so many where there are any; nothing where there is no class."""
    if not items.classes:
        return ""
    about = "The items in each class: those it is surest of and those it is not, with the probability of their class."
    if items.images is None:
        return section("The classes it found", about, class_table(items))
    if len(items.classes) > most:
        about += f" The first {most} of {len(items.classes)} classes."
    return section("The classes it found", about, class_gallery(items, items.images, most))


def class_gallery(items: SortedItems, images: Pictures, most_classes: int = MOST_CLASSES) -> str:
    """A row for each class: how many items it holds, and pictures of its most and least certain ones."""
    rows = []
    for k, name in enumerate(items.classes[:most_classes]):
        members = np.flatnonzero(items.outputs == k)
        most, least = most_and_least_certain(members, np.asarray(items.probabilities), COLUMNS)
        rows.append(
            found_class(
                str(name),
                [count(len(members), "item", "items")],
                [f"<li>{_picture(items, images, i)}</li>" for i in most],
                [f"<li>{_picture(items, images, i)}<span>{_share(items, i)}</span></li>" for i in least],
            )
        )
    return f"<div>{''.join(rows)}</div>"


def class_table(items: SortedItems) -> str:
    """A row for each class: its size, and the ids of its most and least certain items."""
    rows = []
    for k, name in enumerate(items.classes):
        members = np.flatnonzero(items.outputs == k)
        most, least = most_and_least_certain(members, np.asarray(items.probabilities), IDS)
        rows.append(
            f'<tr><th scope="row">{escape(str(name))}</th><td class="number">{len(members):,}</td>'
            f"<td>{_ids(items, most)}</td><td>{_ids(items, least)}</td></tr>"
        )
    head = '<th scope="col">Class</th><th scope="col" class="number">Items</th>'
    head += '<th scope="col">Most certain</th><th scope="col">Least certain</th>'
    return f'<table class="listing"><thead><tr>{head}</tr></thead>\n<tbody>' + "\n".join(rows) + "</tbody></table>"


def _picture(items: SortedItems, images: Pictures, i: int) -> str:
    return thumbnail(images[i], f"{items.name(i)}, certainty {items.probabilities[i]:.3f}")


def _share(items: SortedItems, i: int) -> str:
    return certainty(float(items.probabilities[i]), digits=0)


def _ids(items: SortedItems, positions: list[int]) -> str:
    entries = "".join(f"<li>{escape(items.name(i))} <small>{_share(items, i)}</small></li>" for i in positions)
    return f"<ul>{entries}</ul>" if entries else "\N{EN DASH}"
