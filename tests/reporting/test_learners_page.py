"""The report of learners: self-contained, escaped, and true to the numbers it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting import Card, Learner, find_disagreements

LABELS = [0, 0, 1, 1, 1, 2, 2, 2]
OUTPUTS = [2, 2, 0, 0, 1, 1, 1, 1]  # item 4 is a 1 that fell among the 2s
MATCHING = [1, 2, 0]
NAMES = ["zero", "one", "two"]

Page = Callable[..., Any]
Make = Callable[..., Learner]


def rows_of(tree: Any) -> list[tuple[str, list[int]]]:
    [table] = tree.all("table", "matrix")
    rows = table.all("tbody")[0].all("tr")
    return [(" ".join(row.all("th")[0].text.split()), [int(cell.text) for cell in row.all("td")]) for row in rows]


def test_nothing_is_fetched_and_nothing_runs(page: Page, learner: Make) -> None:
    twin = learner(LABELS, LABELS, [0, 1, 2], 3, name="CE")
    tree = page([learner(OUTPUTS, LABELS, MATCHING, 3), twin], LABELS, NAMES)
    tree.check_self_contained()


def test_confusion_matrix_shows_the_given_numbers_in_the_order_of_the_classes(page: Page, learner: Make) -> None:
    tree = page([learner(OUTPUTS, LABELS, MATCHING, 3)], LABELS, NAMES)
    assert rows_of(tree) == [
        ("output 2 → zero", [2, 0, 0]),
        ("output 0 → one", [0, 2, 0]),
        ("output 1 → two", [0, 1, 3]),
    ]
    cells = {kind: [int(td.text) for td in tree.all("td", kind)] for kind in ("right", "wrong", "zero")}
    assert cells == {"right": [2, 2, 3], "wrong": [1], "zero": [0] * 5}


def test_more_outputs_than_classes(page: Page, learner: Make) -> None:
    outputs = [2, 3, 0, 0, 1, 1, 1, 1]  # output 3 is unmatched, output 4 is empty
    tree = page([learner(outputs, LABELS, [1, 2, 0, -1, -1], 3)], LABELS, NAMES)
    assert rows_of(tree)[3:] == [("output 3 → unmatched", [1, 0, 0]), ("output 4 → unmatched", [0, 0, 0])]
    assert len(tree.all("tr", "unmatched")) == 2
    assert "Unmatched outputs: 2." in tree.text
    found = tree.section("The classes, one by one").all("div", "class-row")
    assert [row.all("h3")[0].text for row in found] == ["zero", "one", "two", "Output 3", "Output 4"]
    assert len(found[3].all("li", "mistake")) == 1
    assert "no item" in found[4].text
    assert not found[4].all("img")


def test_a_class_without_items_and_without_output(page: Page, learner: Make) -> None:
    tree = page([learner(OUTPUTS, LABELS, MATCHING, 4)], LABELS, [*NAMES, "three"])
    assert [cells[3] for _, cells in rows_of(tree)] == [0, 0, 0]
    assert "Classes without an output: three." in tree.text


def test_gallery_outlines_the_mistakes_with_their_true_class(page: Page, learner: Make) -> None:
    gallery = page([learner(OUTPUTS, LABELS, MATCHING, 3)], LABELS, NAMES).section("The classes, one by one")
    [mistake] = gallery.all("li", "mistake")
    assert mistake.text == "one"
    assert mistake.all("img")[0].attributes["alt"] == "mistake, item 4, true class one, certainty 0.786"
    assert len(gallery.all("img")) == len(LABELS)
    counts = [row.all("p")[0].text for row in gallery.all("div", "class-row")]
    assert counts == ["output 22 items, 2 right", "output 02 items, 2 right", "output 14 items, 3 right"]


def test_cards_and_disagreements_compare_two_learners(page: Page, learner: Make) -> None:
    twin = learner(LABELS, LABELS, [0, 1, 2], 3, name="CE", scores={"accuracy": 0.875})
    tree = page([learner(OUTPUTS, LABELS, MATCHING, 3), twin], LABELS, NAMES, facts=[Card("Pairs", "28")])
    cards = [[card.all("p", "value")[0].text, card.all("h2")[0].text] for card in tree.all("div", "card")]
    assert cards[:2] == [["75.0 % right", "MCL"], ["87.5 % right", "CE"]]
    assert cards[2:] == [["\N{MINUS SIGN}12.5 points", "Difference"], ["28", "Pairs"]]
    differ = tree.section("Where they differ")
    assert "1 of 8 test items" in differ.text
    [item] = differ.all("ul", "differ")[0].all("li")
    assert [dd.text for dd in item.all("dd")] == ["one", "two ✗", "one ✓"]
    assert [dd.attributes.get("class") for dd in item.all("dd")] == [None, "mistake", "hit"]


def test_chosen_disagreements_are_shown_in_the_given_order(page: Page, learner: Make) -> None:
    both = [learner(OUTPUTS, LABELS, MATCHING, 3), learner(LABELS, LABELS, [0, 1, 2], 3, name="CE")]
    items = page(both, LABELS, NAMES, disagreements=[5, 0]).section("Where they differ").all("dl")
    assert [item.all("dd")[0].text for item in items] == ["two", "zero"]


def test_names_are_escaped_everywhere(page: Page, learner: Make) -> None:
    evil = "<b>\"&'$x$"
    learners = [
        learner(OUTPUTS, LABELS, MATCHING, 3, name="_" + evil),
        learner(LABELS, LABELS, [0, 1, 2], 3, name=evil),
    ]
    tree = page(learners, LABELS, [evil] * 3, title=evil, summary=f"{evil}\n\nSecond", facts=[Card(evil, evil)])
    assert not tree.all("b")
    assert tree.all("title")[0].text == tree.all("h1")[0].text == evil
    assert [p.text for p in tree.all("header")[0].all("p")] == [evil, "Second"]
    assert [h.text for h in tree.all("h3")] == [evil] * 3
    assert {th.text for th in tree.all("thead")[0].all("th", "long")} == {evil}
    assert tree.all("div", "card")[-1].text == f"{evil} {evil}"
    for drawing in tree.all("svg"):
        assert [text.text for text in drawing.all("text")].count(evil) == 1
        assert [text.text for text in drawing.all("text")].count("_" + evil) == 1


def test_without_labels_only_what_is_known_is_shown(page: Page, learner: Make) -> None:
    unknown = [-1] * 8
    alone = learner(OUTPUTS, unknown, [-1] * 3, 0, scores={}, history=[{"epoch": 1, "loss": 0.5}])
    tree = page([alone], unknown, [])
    assert [h.text for h in tree.all("h2")] == ["How it learned", "The classes, one by one"]
    assert not tree.all("li", "mistake")
    assert [h.text for h in tree.all("h3")] == ["Output 0", "Output 1", "Output 2"]
    assert "right" not in tree.section("The classes, one by one").text
    assert not any("Accuracy" in text.text for text in tree.all("text"))


def test_an_item_without_label_is_no_mistake(page: Page, learner: Make) -> None:
    labels = [0, -1, 1, 1, -1, 2, 2, 2]
    tree = page(
        [learner(OUTPUTS, labels, MATCHING, 3), learner([2, 0, 0, 0, 0, 1, 1, 1], labels, MATCHING, 3, name="CE")],
        labels,
        NAMES,
    )
    assert not tree.all("li", "mistake")
    assert sum(sum(cells) for _, cells in rows_of(tree)) == 6
    answers = [[dd.text for dd in dl.all("dd")] for dl in tree.all("dl")]
    assert answers == [["unknown", "zero", "one"], ["unknown", "two", "one"]]


def test_features_have_no_gallery(page: Page, learner: Make) -> None:
    both = [learner(OUTPUTS, LABELS, MATCHING, 3), learner(LABELS, LABELS, [0, 1, 2], 3, name="CE")]
    tree = page(both, LABELS, NAMES, previews=None)
    assert not tree.all("img")
    assert "The classes, one by one" not in tree.text
    assert len(tree.all("dl")) == 1


def test_many_classes_are_drawn_without_numbers(page: Page, learner: Make) -> None:
    labels = list(range(40))
    tree = page([learner(labels, labels, labels, 40)], labels, [f"c{i}" for i in labels])
    assert not tree.all("table")
    [drawing] = tree.section("What it found, beside the true classes").all("svg")
    assert len(drawing.all("image")) == 1
    assert len(tree.section("The classes, one by one").all("div", "class-row")) == 30
    assert "The first 30 of 40 classes." in tree.text


def test_same_input_same_bytes(tmp_path: Path, page: Page, learner: Make) -> None:
    def write() -> bytes:
        page(
            [learner(OUTPUTS, LABELS, MATCHING, 3)], LABELS, NAMES, previews=np.full((8, 3, 32, 32), 7, dtype=np.uint8)
        )
        return (tmp_path / "report.html").read_bytes()

    assert write() == write()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"labels": LABELS[:-1]}, "MCL: has 8 outputs for 7 labels"),
        ({"labels": [*LABELS[:-1], 3]}, "Label 3 has no name"),
        (
            {"class_names": NAMES[:2], "labels": [0] * 8},
            "MCL: confusion and matching must be about the 2 named classes",
        ),
        (
            {"previews": np.zeros((8, 1, 8, 8))},
            r"Images must be bytes of shape \(8, channels, height, width\), got float64",
        ),
        ({"previews": np.zeros((8, 64), dtype=np.uint8)}, r"got uint8 of shape \(8, 64\)"),
        ({"learners": []}, "at least one learner"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    page: Page, learner: Make, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    given: dict[str, Any] = {
        "learners": [learner(OUTPUTS, LABELS, MATCHING, 3)],
        "labels": LABELS,
        "class_names": NAMES,
    }
    with pytest.raises(InputError, match=message):
        page(**(given | changes))
    assert list(tmp_path.iterdir()) == []


def test_two_learners_of_one_name_are_refused(page: Page, learner: Make) -> None:
    with pytest.raises(InputError, match="different names"):
        page([learner(OUTPUTS, LABELS, MATCHING, 3)] * 2, LABELS, NAMES)


def test_predictions_are_classes(learner: Make) -> None:
    assert learner([0, 1, 2, 0], [0] * 4, [2, -1, 0], 3).predictions.tolist() == [2, -1, 0, 2]


def test_learners_agree_on_classes_not_on_outputs(learner: Make) -> None:
    labels = [0, 1, 2, 0]
    first = learner([0, 1, 2, 0], labels, [2, 1, 0], 3)
    second = learner([2, 1, 1, 2], labels, [0, 1, 2], 3, name="CE")
    third = learner([2, 0, 0, 2], labels, [0, 1, 2], 3, name="KCL")
    assert find_disagreements([first, second]) == [2]
    assert find_disagreements([first, second, third]) == [1, 2]
    assert find_disagreements([first]) == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"matching": np.array([0, 1])}, "MCL: confusion must have one row for each of the 2 outputs"),
        ({"probabilities": np.ones(3)}, "got 4 and 3"),
        ({"outputs": np.array([0, 1, 2, 3])}, "MCL: outputs must be between 0 and 2"),
        ({"outputs": np.array([0, 1, 2, -1])}, "MCL: outputs must be between 0 and 2"),
    ],
)
def test_a_learner_that_does_not_fit_is_refused(learner: Make, changes: dict[str, Any], message: str) -> None:
    sound = learner([0, 1, 2, 0], [0] * 4, [2, 1, 0], 3)
    with pytest.raises(InputError, match=message):
        replace(sound, **changes)
