"""What the page says of wrong answers: rates and verdicts, suspects with their odds and chains, items of no class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.reporting import AnnotatorRow, JudgedAnswers, WrongAnswer, WrongAnswers
from likewise.reporting.judged import SortedItems
from likewise.reporting.wrong_answers import MOST_OUTLIERS, wrong_sections

Read = Callable[[str], Any]

ITEMS = SortedItems(["x", "y"], np.array([0, 1] * 20), np.full(40, 0.75), None, [f"<{i}>" for i in range(40)])
ANSWERS = JudgedAnswers(
    np.array([0, 1]), np.array([1, 2]), np.array([1.0, 0.0]), np.array([0.1, 0.9]), np.array([7, 9])
)
ROWS = [
    AnnotatorRow("ann", 1200, "4.2 % (2.2 to 6.6)", "1.0 % (0.4 to 2.0)", ""),
    AnnotatorRow("<carl>", 80, "52.0 % (40.0 to 60.0)", "47.0 % (38.0 to 55.0)", "looks random"),
]


def test_rates_suspects_and_outliers_are_shown(read: Read) -> None:
    suspects = [WrongAnswer(1, "<carl>", "12 to 1", "1=0, 0=2 (3, 4)")]
    wrong = WrongAnswers("About 6 % look wrong.", ROWS, suspects, 3, range(30))
    rates, asked, outliers = (read(part) for part in wrong_sections(wrong, ANSWERS, ITEMS))
    cells = [[cell.text for cell in row.all("td")] for row in rates.all("tr")[1:]]
    assert cells[0] == ["1,200", "1.0 % (0.4 to 2.0)", "4.2 % (2.2 to 6.6)", ""]  # false same comes first, as its head
    assert [head.text for head in rates.all("th")][2:4] == ["Wrongly “same”", "Wrongly “different”"]
    assert cells[1][-1] == "looks random"
    assert "3 answers are more likely wrong than right; the 1 least credible are shown." in asked.text
    assert [dd.text for dd in asked.all("dd")] == [
        "<1>",
        "<2>",
        "different",
        "same, 90.0 %",
        "<carl>",
        "12 to 1",
        "1=0, 0=2 (3, 4)",
    ]
    assert "30 items fit no class, or two" in outliers.text
    assert len(outliers.all("li")) == MOST_OUTLIERS
    assert outliers.all("h3")[0].text == "<0>"


def test_where_nothing_can_be_told_nothing_is_claimed(read: Read) -> None:
    rates, *others = wrong_sections(WrongAnswers("It cannot be told.", (), (), 0, ()), ANSWERS, ITEMS)
    assert "It cannot be told." in read(rates).text
    assert others == ["", ""]


def test_answers_of_which_none_looks_wrong(read: Read) -> None:
    _, asked, outliers = wrong_sections(WrongAnswers("None.", ROWS[:1], (), 0, ()), ANSWERS, ITEMS)
    assert "No answer is more likely wrong than right." in read(asked).text
    assert outliers == ""
