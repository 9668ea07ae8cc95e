"""The page of a few labels: what it says, shows and refuses."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting.gallery import ClassifiedItems
from likewise.reporting.labels_page import ItemLabels, write_labels_page

CLASSES = ["ant", "<bee>"]
OUTPUTS = np.array([0, 0, 0, 1, 1, 1])
PROBABILITIES = np.array([0.9, 0.8, 0.7, 0.99, 0.6, 0.95])
LABELS = ItemLabels(
    np.array([0, 3, 4, 5]), ["ant", "ant", "<bee>", "ant"], np.array([False, False, True, True])
)  # items 3 and 5 are labelled otherwise than found
HISTORY = [
    {"epoch": 1, "loss": 0.9, "held_out_loss": 0.8, "held_out_accuracy": 0.5, "stage": 1},
    {"epoch": 2, "loss": 0.4, "held_out_loss": 0.5, "held_out_accuracy": 0.5, "stage": 2},
]


def written(
    path: Path, labels: ItemLabels = LABELS, history: Any = HISTORY, previews: Any = None, ids: Any = "abcdef"
) -> str:
    items = ClassifiedItems(CLASSES, OUTPUTS, PROBABILITIES, previews, ids)
    write_labels_page(
        path / "page.html", items, labels, title="Two classes", summary="From four labels.", history=history
    )
    return (path / "page.html").read_text(encoding="utf-8")


def text_of(page: str) -> str:
    content = re.sub(r"<style>.*?</style>|<svg.*?</svg>", "", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", content)).split())


def test_what_it_says(tmp_path: Path) -> None:
    page = written(tmp_path)
    text = text_of(page)
    assert "<bee>" not in page.replace("&lt;bee&gt;", "")
    assert "50.0 % (9\N{EN DASH}91) Held-out labels right 1 of 2 held-out labels" in text
    assert "2 Labels learned from 1 of them right" in text
    assert "6 Items 2 of them without a label" in text
    assert "found ant <bee> ant 0 0 <bee> 1 1" in text
    assert "A dashed line marks the start of a stage; each stage's training loss is over different items." in text
    assert "The model disagrees with 2 of 4 labels." in text
    assert text.index("d Label ant Model <bee>, 99.0 %") < text.index("f Label ant Model <bee>, 95.0 %")  # surest first


def test_without_held_out_labels_nothing_is_measured(tmp_path: Path) -> None:
    alone = ItemLabels(LABELS.items, ["ant", "<bee>", "<bee>", "<bee>"], np.zeros(4, dtype=bool))
    text = text_of(written(tmp_path, alone, history=[]))
    assert "held-out" not in text.lower()
    assert "true class" not in text
    assert "The model agrees with every label." in text


def test_pictures_of_the_labels_to_check(tmp_path: Path) -> None:
    images = np.zeros((6, 1, 8, 8), dtype=np.uint8)
    page = written(tmp_path, previews=images)
    assert page.count("data:image/png") == 6 + 2  # each item in its class, and the two suspects


def test_a_label_that_is_no_class_any_more_is_wrong(tmp_path: Path) -> None:
    renamed = ItemLabels(LABELS.items, ["wasp"] * 4, LABELS.held_out)
    text = text_of(written(tmp_path, renamed))
    assert "The model disagrees with 4 of 4 labels." in text
    assert "true class" not in text


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="equally long, got 4 items, 3 labels and 4 held_out"):
        ItemLabels(LABELS.items, ["ant"] * 3, LABELS.held_out)
    with pytest.raises(InputError, match="Labels must be about items 0 to 5, got 0 to 6"):
        written(tmp_path, ItemLabels(np.array([0, 6]), ["ant", "ant"], np.zeros(2, dtype=bool)))


@pytest.mark.parametrize("pictured", [True, False])
def test_hostile_names_are_escaped_everywhere(tmp_path: Path, read: Any, pictured: bool) -> None:
    evil = '<script>alert("&\'$x$")</script>'
    items = ClassifiedItems([evil, "ant"], OUTPUTS, PROBABILITIES, ids=[evil] * 6)
    if pictured:
        items = replace(items, previews=np.zeros((6, 1, 8, 8), dtype=np.uint8))
    labels = replace(LABELS, labels=[evil, evil, "ant", evil])
    write_labels_page(tmp_path / "page.html", items, labels, title=evil, summary=evil, history=HISTORY)
    tree = read((tmp_path / "page.html").read_text(encoding="utf-8"))
    tree.check_self_contained()
    assert tree.all("h1")[0].text == tree.all("header")[0].all("p")[0].text == evil
    assert [th.text for th in tree.all("table", "matrix")[0].all("thead")[0].all("th")][2:] == [evil, "ant"]
    suspects = tree.section("Labels to check again")
    assert {h.text for h in suspects.all("h3")} == {evil}
    assert suspects.all("dd")[0].text == evil
