"""The matching against every permutation, and what it does with outputs that have no class."""

from __future__ import annotations

from itertools import permutations
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from likewise.evaluation import accuracy, apply_matching, confusion, match_outputs

tables = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda shape: arrays(np.int64, shape, elements=st.integers(0, 6))
)


@given(st.data(), st.integers(1, 5), st.integers(1, 4))
def test_confusion_equals_a_loop_over_items(data: st.DataObject, n_outputs: int, n_classes: int) -> None:
    item = st.tuples(st.integers(0, n_outputs - 1), st.integers(-1, n_classes - 1) | st.just(-100))
    items = data.draw(st.lists(item, max_size=30))
    expected = np.zeros((n_outputs, n_classes), dtype=np.int64)
    for output, label in items:
        if label >= 0:
            expected[output, label] += 1
    counts = confusion([k for k, _ in items], [c for _, c in items], n_outputs, n_classes)
    np.testing.assert_array_equal(counts, expected)
    assert counts.dtype == np.int64


def test_confusion_takes_tensors() -> None:
    counts = confusion(torch.tensor([0, 1, 1]), torch.tensor([1, 0, -1]), 2, 2)
    np.testing.assert_array_equal(counts, [[0, 1], [1, 0]])


def test_confusion_of_narrow_integers_does_not_overflow() -> None:
    counts = confusion(np.full(3, 99, dtype=np.int8), np.full(3, 99, dtype=np.int8), 100, 100)
    assert counts[99, 99] == counts.sum() == 3


@given(tables)
def test_no_permutation_gets_more_items_right(counts: np.ndarray) -> None:
    n_outputs, n_classes = counts.shape
    square = np.zeros((max(counts.shape),) * 2, dtype=np.int64)
    square[:n_outputs, :n_classes] = counts
    best = max(square[range(len(square)), order].sum() for order in permutations(range(len(square))))
    matching = match_outputs(counts)
    assert sum(counts[k, c] for k, c in enumerate(matching) if c >= 0) == best
    used = matching[matching >= 0]
    assert len(used) == len(set(used.tolist()))  # each class has one output
    assert all(counts[k, c] > 0 for k, c in enumerate(matching) if c >= 0)


@given(tables, st.randoms(use_true_random=False))
def test_order_of_outputs_and_classes_does_not_matter(counts: np.ndarray, random: Random) -> None:
    rows, columns = [random.sample(range(n), n) for n in counts.shape]
    shuffled = counts[rows][:, columns]
    assert accuracy(shuffled, match_outputs(shuffled)) == accuracy(counts, match_outputs(counts))


def test_more_outputs_than_classes() -> None:
    counts = [[0, 9], [8, 0], [7, 0], [0, 8]]
    np.testing.assert_array_equal(match_outputs(counts), [1, 0, -1, -1])


def test_fewer_outputs_than_classes() -> None:
    np.testing.assert_array_equal(match_outputs([[1, 9, 0], [0, 8, 3]]), [1, 2])


def test_greedy_choice_is_not_the_best() -> None:
    # Output 0 likes class 0 most, but output 1 has nowhere else to go: 9 + 8 beats 10 + 1.
    np.testing.assert_array_equal(match_outputs([[10, 9], [8, 1]]), [1, 0])


@pytest.mark.parametrize("leftover", [[0, 0, 0], [0, 2, 0]])
def test_output_that_no_item_supports_has_no_class(leftover: list[int]) -> None:
    # Class 2 is free, but nothing says that it is this output's.
    np.testing.assert_array_equal(match_outputs([[9, 0, 0], [0, 9, 0], leftover]), [0, 1, -1])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 2)])
def test_nothing_to_match(shape: tuple[int, int]) -> None:
    np.testing.assert_array_equal(match_outputs(np.zeros(shape, dtype=np.int64)), np.full(shape[0], -1))


def test_fitted_on_training_data_applied_to_test_data() -> None:
    matching = match_outputs(confusion([2, 2, 0, 0, 1], [0, 0, 1, 1, 1], 3, 2))
    np.testing.assert_array_equal(matching, [1, -1, 0])
    np.testing.assert_array_equal(apply_matching([0, 1, 2, 2], matching), [1, -1, 0, 0])
    # The test data alone would match output 1 with class 1; the training data did not, so its items are errors.
    assert accuracy(confusion([0, 1, 1, 2], [1, 1, 1, 0], 3, 2), matching) == 0.5


def test_apply_matching_of_no_item() -> None:
    assert apply_matching([], [0, 1]).shape == (0,)


@pytest.mark.parametrize(
    ("outputs", "labels", "message"),
    [
        ([0, 1], [0], "outputs and labels must be of equal length, got 2 and 1"),
        ([0, 2], [0, 1], "outputs must be between 0 and 1, got values from 0 to 2"),
        ([0, -1], [0, 1], "outputs must be between 0 and 1, got values from -1 to 0"),
        ([0, 1], [0, 3], "labels must be between -1 and 2, got values from 0 to 3"),
        ([0, 1], [0, -2], "labels must be between -1 and 2"),
        ([[0, 1]], [0, 1], r"outputs must have one dimension, got shape \(1, 2\)"),
        ([0.0, 1.0], [0, 1], "outputs must be integers, got float64"),
    ],
)
def test_confusion_refuses(outputs: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confusion(outputs, labels, 2, 3)


@pytest.mark.parametrize("counts", [[1, 2], [[[1]]]])
def test_match_outputs_refuses_what_is_no_matrix(counts: Any) -> None:
    with pytest.raises(ValueError, match=r"confusion must be a matrix \(outputs, classes\), got shape"):
        match_outputs(counts)


@pytest.mark.parametrize("counts", [[[0.5, 1.0]], [[-1, 2]]])
def test_match_outputs_refuses_what_are_no_counts(counts: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="integers that are not negative"):
        match_outputs(counts)


def test_apply_matching_refuses() -> None:
    with pytest.raises(ValueError, match="outputs must be between 0 and 1, got values from 0 to 2"):
        apply_matching([0, 2], [0, 1])
    with pytest.raises(ValueError, match="matching must be at least -1"):
        apply_matching([0], [-2])
