"""Answers beside what a model says: which are contradicted, where they stand, and what does not fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting.suspects import ScoredAnswers


def columns(same: list[float], similarity: list[float], **changes: Any) -> ScoredAnswers:
    given: dict[str, Any] = {"same": np.array(same), "similarity": np.array(similarity)}
    places = {"left": np.arange(len(same)), "right": np.arange(len(same)) + 1}
    return ScoredAnswers(**(given | places | changes))


def test_the_most_contradicted_come_first() -> None:
    #                  agrees  by 0.7  by 0.95  agrees  undecided  soft, by 0.6  tie in order, by 0.7
    same, similarity = [1, 1, 0, 0, 0.5, 0.8, 0], [0.9, 0.3, 0.95, 0.2, 1.0, 0.2, 0.7]
    assert columns(same, similarity).contradicted().tolist() == [2, 1, 6, 5]


def test_nothing_to_contradict() -> None:
    assert columns([], []).contradicted().tolist() == []
    assert columns([1, 0], [0.6, 0.4]).contradicted().tolist() == []


def test_a_place_is_a_line_or_a_row() -> None:
    assert columns([1, 0], [1, 0]).place(1) == "row 1"
    assert columns([1, 0], [1, 0], line=np.array([4, 9])).place(1) == "line 9"
    assert columns([1, 0], [1, 0], line=np.array([4, 9]), unit="row").place(0) == "row 4"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"right": np.array([1])}, "equally long, got left 2, right 1, same 2, similarity 2"),
        ({"line": np.array([1])}, "equally long, got .*, line 1"),
        ({"same": np.array([1, -1])}, "same of the answers must be between 0 and 1, got values from -1.0 to 1.0"),
        ({"similarity": np.array([1, np.nan])}, "similarity of the answers must be between 0 and 1"),
    ],
)
def test_columns_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(columns([1, 0], [0.9, 0.1]), **changes)
