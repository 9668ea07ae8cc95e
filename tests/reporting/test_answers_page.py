"""The page of answers: true to its numbers, silent where nothing was held out, safe with hostile names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting import Card
from likewise.reporting.suspects import ScoredAnswers

Page = Callable[..., Any]

DASH = "\N{EN DASH}"
NOTHING = ScoredAnswers(np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.zeros(0))
TITLES = [
    "How far its probabilities can be trusted",
    "How it learned",
    "The classes it found",
    "Answers to check again",
]


def scored(same: list[float], similarity: list[float]) -> ScoredAnswers:
    n = len(same)
    return ScoredAnswers(np.zeros(n, int), np.ones(n, int), np.array(same), np.array(similarity))


def titles(tree: Any) -> list[str]:
    return [section.all("h2")[0].text for section in tree.all("section")]


def test_sections_in_order_and_nothing_is_fetched(answers_page: Page) -> None:
    tree = answers_page(figures=True)
    tree.check_self_contained()
    assert titles(tree) == TITLES
    assert len(tree.all("svg")) == 4  # two figures, each for a wide page and for a narrow one


def test_cards_tell_both_kinds_of_answer(answers_page: Page) -> None:
    held_out = scored([1] * 20 + [0] * 140 + [0.5], [0.9] * 15 + [0.1] * 139 + [0.6] * 7)
    tree = answers_page(held_out=held_out, facts=[Card("Unused outputs", "2")])
    assert tree.cards() == {
        "Held-out answers right": (f"93.1 % (88{DASH}96)", "149 of 160 held-out answers; balanced 85.4 %"),
        "“Same” recognised": (f"75.0 % (53{DASH}89)", "15 of 20 held-out “same”"),
        "“Different” recognised": (f"95.7 % (91{DASH}98)", "134 of 140 held-out “different”"),
        "Answers": ("7", "4 same, 2 different, 1 undecided"),
        "Items": ("8", "7 of them in an answer"),
        "Classes found": ("3", ""),
        "Unused outputs": ("2", ""),
    }
    assert "Always saying “different” would be right 140 times in 160." in tree.text


def test_a_narrow_interval_gets_a_decimal(answers_page: Page) -> None:
    cards = answers_page(held_out=scored([1] * 10_000, [0.9] * 9_500 + [0.1] * 500)).cards()
    assert cards["Held-out answers right"][0] == f"95.0 % (94.6{DASH}95.4)"


def test_one_kind_of_answer_alone_claims_nothing_of_the_other(answers_page: Page) -> None:
    cards = answers_page(held_out=scored([0, 0, 0], [0.1, 0.2, 0.9])).cards()
    assert cards["“Same” recognised"] == (DASH, "no held-out “same” to measure it on")
    assert cards["Held-out answers right"][1] == "2 of 3 held-out answers"


@pytest.mark.parametrize(
    ("held_out", "why"),
    [
        (NOTHING, "No answer was held out"),
        (None, "No answer was held out"),
        (scored([0.5], [0.9]), "No held-out answer is decided"),
    ],
)
def test_without_held_out_answers_no_figure_pretends(
    answers_page: Page, held_out: ScoredAnswers | None, why: str
) -> None:
    tree = answers_page(held_out=held_out)
    assert titles(tree) == ["How often it is right", *TITLES[2:]]
    assert f"{why}, so this page cannot say" in tree.section("How often it is right").text
    assert list(tree.cards()) == ["Answers", "Items", "Classes found"]
    assert not tree.all("svg")
    assert "95 %" not in tree.text


def test_calibration_error_is_told_in_words(answers_page: Page) -> None:
    section = answers_page(held_out=scored([1, 1, 0, 1], [0.9, 0.9, 0.2, 0.2])).section(TITLES[0])
    assert "On the 4 held-out answers its probabilities are off by 20.0 percentage points" in section.text
    for drawing in section.all("svg"):
        assert drawing.attributes["aria-label"].endswith("10 to 20 %: 50 % of 2; 80 to 90 %: 100 % of 2")


def test_learning_curve_names_the_stage(answers_page: Page) -> None:
    section = answers_page(figures=True, held_out=None).section("How it learned")
    assert "Held-out accuracy and loss after each epoch. A dashed line marks" in section.text
    for drawing in section.all("svg"):
        assert [text.text for text in drawing.all("text")].count("unlabelled items join") == 2


def test_the_training_loss_alone_does_not_speak_of_accuracy(answers_page: Page) -> None:
    section = answers_page(history=[{"epoch": 1, "loss": 1.0}, {"epoch": 2, "loss": 0.5}]).section("How it learned")
    assert section.all("p")[0].text == "Training loss after each epoch."
    assert not any("eld-out" in text.text for text in section.all("text"))


def test_contradicted_answers_are_listed_with_their_lines(answers_page: Page) -> None:
    section = answers_page().section("Answers to check again")
    assert "The model says the opposite of 3 of 7 answers." in section.text
    assert [h.text for h in section.all("h3")] == ["Line 3", "Line 6", "Line 5"]
    first = section.all("li")[0]
    assert [dd.text for dd in first.all("dd")] == ["item-a", "item-c", "different", "same, 98.0 %"]
    assert [img.attributes["alt"] for img in first.all("img")] == ["item-a", "item-c"]


def test_an_answer_that_is_not_sure_is_shown_with_its_probability(answers_page: Page) -> None:
    soft = scored([0.7, 0.0, 1.0], [0.1, 0.99999, 0.021])
    entries = answers_page(answers=soft, previews=None).section("Answers to check again").all("li")
    assert [[dd.text for dd in entry.all("dd")[2:]] for entry in entries] == [
        ["different", "same, >99.9 %"],
        ["same", "different, 97.9 %"],
        ["same, 70.0 %", "different, 90.0 %"],
    ]
    assert [dt.text for dt in entries[0].all("dt")] == ["Left", "Right", "Answered", "Model"]


def test_at_most_24_suspects(answers_page: Page) -> None:
    section = answers_page(answers=scored([1] * 30, [0.4] * 5 + [0.1] * 25)).section("Answers to check again")
    assert [h.text for h in section.all("h3")] == [f"Row {i}" for i in range(5, 29)]
    assert "opposite of 30 of 30 answers. The 24 that it contradicts most are shown." in section.text


def test_a_model_that_agrees_is_said_to(answers_page: Page) -> None:
    section = answers_page(answers=scored([1, 0], [0.9, 0.1])).section("Answers to check again")
    assert "The model agrees with every answer." in section.text
    assert not section.all("ul")


def test_features_have_a_table_of_classes(answers_page: Page) -> None:
    tree = answers_page(previews=None)
    tree.check_self_contained()
    assert not tree.all("img")
    [table] = tree.section("The classes it found").all("table", "listing")
    assert [th.text for th in table.all("tbody")[0].all("th")] == ["apple", "pear", "plum"]
    assert len(tree.section("Answers to check again").all("h3")) == 3


def test_many_classes_are_not_all_pictured(answers_page: Page) -> None:
    names = [f"c{k}" for k in range(40)]
    section = answers_page(classes=names).section("The classes it found")
    assert "The first 30 of 40 classes." in section.text
    assert len(section.all("div", "class-row")) == 30
    table = answers_page(classes=names, previews=None).section("The classes it found")
    assert len(table.all("tbody")[0].all("tr")) == 40


@pytest.mark.parametrize("pictured", [True, False])
def test_hostile_names_are_escaped_everywhere(answers_page: Page, pictured: bool) -> None:
    evil = '<script>alert("&\'$x$")</script>'
    changes: dict[str, Any] = {} if pictured else {"previews": None}
    history = [{"epoch": 1, "loss": 1.0, "stage": "a"}, {"epoch": 2, "loss": 0.5, "stage": evil}]
    tree = answers_page(
        title=evil,
        summary=evil,
        classes=[evil] * 3,
        ids=[evil] * 8,
        facts=[Card(evil, evil, evil, evil)],
        history=history,
        **changes,
    )
    tree.check_self_contained()
    assert tree.all("h1")[0].text == evil
    assert tree.cards()[evil] == (f"{evil} {evil}", evil)
    assert {dd.text for dd in tree.all("dd", "id")} == {evil}
    for drawing in tree.section("How it learned").all("svg"):
        assert evil in [text.text for text in drawing.all("text")]


def test_same_input_same_bytes(answers_page: Page, tmp_path: Path) -> None:
    answers_page(figures=True)
    before = (tmp_path / "report.html").read_bytes()
    answers_page(figures=True)
    assert (tmp_path / "report.html").read_bytes() == before


@pytest.mark.parametrize("column", ["answers", "held_out"])
def test_answers_about_unknown_items_are_refused(answers_page: Page, tmp_path: Path, column: str) -> None:
    wrong = ScoredAnswers(np.array([0]), np.array([8]), np.ones(1), np.ones(1))
    with pytest.raises(InputError, match="Answers must be about items 0 to 7, got 8 to 8"):
        answers_page(**{column: wrong})
    assert list(tmp_path.iterdir()) == []
