"""The page of discovered classes: what it says, shows and warns of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.evaluation import NumberOfClasses, Trust, calibration, pair_quality
from likewise.reporting import Card
from likewise.reporting.discovery_page import SimilarityQuality, write_discovery_page
from likewise.reporting.gallery import ClassifiedItems

TRUTH = np.array([1, 1, 0, 1, 0])
CURVES = {"Similarity": [{"epoch": 1, "loss": 3.0}], "Classifier": [{"epoch": 1, "loss": 0.4}]}
DASH = "\N{EN DASH}"


def measured(said: list[float], new_classes: bool) -> SimilarityQuality:
    return SimilarityQuality(pair_quality(said, TRUTH), calibration(said, TRUTH), new_classes)


def written(path: Path, previews: Any = None, **further: Any) -> str:
    """Six items in two classes."""
    items = ClassifiedItems(
        ["class 0", "<class 3>"],
        np.array([0, 0, 0, 0, 1, 1]),
        np.array([0.9, 0.8, 0.7, 0.99, 0.6, 0.95]),
        previews,
        list("abcdef"),
    )
    named = {"title": "Two classes", "summary": "Nobody labelled them.", "about_number": "There are about 2."}
    write_discovery_page(path, items, **(named | further))
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("pages")
    sound = written(
        folder / "sound.html",
        number=NumberOfClasses(2, 2, 4),
        quality=measured([0.95, 0.85, 0.75, 0.25, 0.15], True),
        trust=Trust(0.81, 0.92, 0.03, 0.14),
        histories=CURVES,
        previews=np.arange(6 * 64, dtype=np.uint8).reshape(-1, 1, 8, 8),
    )
    doubtful = written(
        folder / "doubtful.html",
        number=NumberOfClasses(2, 2, 2),
        quality=measured([0.1] * 5, False),
        trust=Trust(0.1, 0.2, 0.0, 0.5),
        histories={"Classifier": CURVES["Classifier"]},
        facts=[Card("Unused outputs", "1", "of 3")],
    )
    return sound, doubtful


@pytest.fixture
def sound(_pages: tuple[str, str], read: Callable[[str], Any]) -> Any:
    """Pictures, found with a similarity that held-out classes speak for."""
    return read(_pages[0])


@pytest.fixture
def doubtful(_pages: tuple[str, str], read: Callable[[str], Any]) -> Any:
    """Items without pictures, found with a similarity of another run that never says "same"."""
    return read(_pages[1])


def rows(section: Any) -> list[list[str]]:
    """The cells of its table, row by row."""
    return [[cell.text for cell in row.children] for row in section.all("tr")[1:]]


def test_it_is_one_file(sound: Any, doubtful: Any) -> None:
    sound.check_self_contained()
    doubtful.check_self_contained()


def test_the_number_of_classes_and_of_items(sound: Any, doubtful: Any) -> None:
    cards = sound.cards()
    assert cards["Classes found"] == (f"2 (2{DASH}4)", "2 to 4 items in each")
    assert cards["Items"] == ("6", "none of them with a label")
    assert "There are about 2." in sound.text
    assert doubtful.cards()["Classes found"][0] == "2"
    assert doubtful.cards()["Unused outputs"][0] == "1 of 3"
    assert "Unused outputs" not in cards


def test_precision_and_recall_of_same_and_of_different(sound: Any) -> None:
    section = sound.section("How good the similarity is")
    assert rows(section) == [["“Same”", "3", "66.7 %", "66.7 %"], ["“Different”", "2", "50.0 %", "50.0 %"]]
    assert "held out, and were as new to it as the classes of these items" in section.text
    assert "Of 5 pairs of held-out items, 3 are the same." in section.text
    off = np.mean(np.abs(np.array([0.95, 0.85, 0.75, 0.25, 0.15]) - TRUTH))  # each pair has a bin of its own
    assert f"off by {100 * off:.1f} percentage points" in section.text
    assert sound.cards()["“Same” is right"] == ("66.7 %", "of the times it is said, on new classes")
    assert sound.cards()["“Same” is found"] == ("66.7 %", "of 3 same pairs, on new classes")
    label = section.all("svg")[0].attributes["aria-label"]
    assert "10 to 20 %: 0 % of 1; 20 to 30 %: 100 % of 1; 70 to 80 %: 0 % of 1" in label


def test_items_of_known_classes_are_an_easier_test_and_it_says_so(doubtful: Any) -> None:
    section = doubtful.section("How good the similarity is")
    assert "Classes that it has never seen will be harder." in section.text
    assert rows(section)[0] == ["“Same”", "3", DASH, "0.0 %"]  # what is never said has no precision
    assert doubtful.cards()["“Same” is right"] == (DASH, "of the times it is said, on new items of known classes")


def test_a_similarity_to_trust_and_one_that_is_useless(sound: Any, doubtful: Any) -> None:
    trusted, useless = (page.section("Whether to trust the classes") for page in (sound, doubtful))
    assert [row[1] for row in rows(trusted)] == ["81.0 %", "92.0 %", "3.0 %", "14.0 %"]
    assert [row[2] for row in rows(trusted)] == ["below 50 %", "below 50 %", "above 50 %", "above 90 %"]
    assert "Nothing here is evidence against the similarity." in trusted.text
    assert (
        "The similarity looks useless here: it is sure of 10 % of the pairs only; it contradicts itself in "
        "80 % of the chains i = j = k. Do not trust the classes." in useless.text
    )


def test_the_curves_of_both_stages_or_of_one(sound: Any, doubtful: Any) -> None:
    both, one = (page.section("How it learned") for page in (sound, doubtful))
    assert "Similarity: training loss" in both.text
    assert "Similarity: training loss" not in one.text


def test_a_gallery_of_each_class_or_a_table(sound: Any, doubtful: Any) -> None:
    pictures, table = (page.section("The classes it found") for page in (sound, doubtful))
    assert len(pictures.all("img")) == 6
    assert "<class 3>" in pictures.text
    assert not table.all("img")
    assert "<class 3>" in table.text


def test_a_similarity_that_was_given_has_no_figures(tmp_path: Path, read: Callable[[str], Any]) -> None:
    evil = "<script>\"&'</script>"
    page = written(
        tmp_path / "page.html",
        number=NumberOfClasses(2, 2, 2),
        quality=None,
        trust=Trust(0.81, 0.92, 0.03, 0.14),
        histories={evil: CURVES["Classifier"]},
        title=evil,
        about_number=evil,
        summary=evil,
    )
    tree = read(page)
    tree.check_self_contained()
    assert [section.all("h2")[0].text for section in tree.all("section")] == [
        "Whether to trust the classes",
        "How it learned",
        "The classes it found",
    ]
    assert list(tree.cards()) == ["Classes found", "Items"]
    assert tree.all("p", "note")[0].text == tree.all("h1")[0].text == evil
    assert f"{evil}: training loss" in [text.text for text in tree.all("text")]
