"""Answers to check again: both items, what was answered, what the model says, and where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.reporting import JudgedAnswers
from likewise.reporting.judged import SortedItems
from likewise.reporting.suspects import suspects

Read = Callable[[str], Any]

ANSWERS = JudgedAnswers(
    left=np.array([0, 1, 2]),
    right=np.array([1, 2, 0]),
    same=np.array([1.0, 0.0, 0.7]),
    similarity=np.array([0.021, 0.99999, 0.1]),
    line=np.array([2, 3, 17]),
)
IDS = ["a.png", "<script>alert(1)</script>", '"onload="x']


def items(images: np.ndarray | None = None) -> SortedItems:
    return SortedItems(["x"], np.zeros(3, int), np.ones(3), images, IDS)


def test_every_suspect_is_told(read: Read) -> None:
    entries = read(suspects(ANSWERS, [2, 0, 1], items())).all("ul", "suspects")[0].all("li")
    assert [entry.all("h3")[0].text for entry in entries] == ["Line 17", "Line 2", "Line 3"]
    assert [[dd.text for dd in entry.all("dd")] for entry in entries] == [
        [IDS[2], IDS[0], "same, 70.0 %", "different, 90.0 %"],
        [IDS[0], IDS[1], "same", "different, 97.9 %"],
        [IDS[1], IDS[2], "different", "same, >99.9 %"],
    ]
    assert [dt.text for dt in entries[0].all("dt")] == ["Left", "Right", "Answered", "Model"]


def test_both_pictures_are_shown_with_their_ids(read: Read) -> None:
    images = np.arange(3 * 64, dtype=np.uint8).reshape(3, 1, 8, 8)
    tree = read(suspects(ANSWERS, [1], items(images)))
    assert [img.attributes["alt"] for img in tree.all("img")] == [IDS[1], IDS[2]]
    assert len({img.attributes["src"] for img in tree.all("img")}) == 2
    assert not read(suspects(ANSWERS, [1], items())).all("img")


def test_hostile_ids_stay_text(read: Read) -> None:
    images = np.zeros((3, 1, 8, 8), dtype=np.uint8)
    tree = read(suspects(ANSWERS, [0, 1, 2], items(images)))
    assert not tree.all("script")
    assert not any("onload" in element.attributes for element in tree.everything())
