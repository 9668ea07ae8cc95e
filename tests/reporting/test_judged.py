"""Judged answers: which are contradicted, where they stand, and what does not fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting import JudgedAnswers
from likewise.reporting.judged import SortedItems


def judged(same: list[float], similarity: list[float], **changes: Any) -> JudgedAnswers:
    columns: dict[str, Any] = {
        "left": np.arange(len(same)),
        "right": np.arange(len(same)) + 1,
        "same": np.array(same),
        "similarity": np.array(similarity),
    }
    return JudgedAnswers(**(columns | changes))


def test_the_most_contradicted_come_first() -> None:
    #                  agrees  by 0.7  by 0.95  agrees  undecided  soft, by 0.6  tie in order, by 0.7
    same, similarity = [1, 1, 0, 0, 0.5, 0.8, 0], [0.9, 0.3, 0.95, 0.2, 1.0, 0.2, 0.7]
    assert judged(same, similarity).contradicted().tolist() == [2, 1, 6, 5]


def test_nothing_to_contradict() -> None:
    assert judged([], []).contradicted().tolist() == []
    assert judged([1, 0], [0.6, 0.4]).contradicted().tolist() == []


def test_a_place_is_a_line_or_a_row() -> None:
    assert judged([1, 0], [1, 0]).place(1) == "row 1"
    assert judged([1, 0], [1, 0], line=np.array([4, 9])).place(1) == "line 9"
    assert judged([1, 0], [1, 0], line=np.array([4, 9]), unit="row").place(0) == "row 4"


def test_an_item_without_id_is_named_by_its_position() -> None:
    assert SortedItems(["a"], np.zeros(2, int), np.ones(2)).name(1) == "item 1"
    assert SortedItems(["a"], np.zeros(2, int), np.ones(2), ids=np.array([7, 8])).name(1) == "8"


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
        replace(judged([1, 0], [0.9, 0.1]), **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probabilities": np.ones(2)}, "Each of 3 items must have a probability, got 2"),
        ({"probabilities": np.full(3, 1.5)}, "probabilities must be between 0 and 1"),
        ({"outputs": np.array([0, 1, 2])}, "outputs must be between 0 and 1: there are 2 classes"),
        ({"outputs": np.array([0, 1, -1])}, "outputs must be between 0 and 1"),
        ({"ids": ["a"]}, "Each of 3 items must have an id, got 1 ids"),
        ({"images": np.zeros((2, 1, 8, 8), dtype=np.uint8)}, "Images must be bytes"),
    ],
)
def test_items_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"classes": ["a", "b"], "outputs": np.array([0, 1, 1]), "probabilities": np.ones(3)}
    with pytest.raises(InputError, match=message):
        SortedItems(**(given | changes))


@pytest.mark.parametrize("right", [[1, 3], [-1, 1]])
def test_answers_about_items_that_are_not_there_are_refused(right: list[int]) -> None:
    items = SortedItems(["a"], np.zeros(3, int), np.ones(3))
    with pytest.raises(InputError, match="Answers must be about items 0 to 2, got"):
        items.check(judged([1, 0], [1, 0], right=np.array(right)))
