"""Every score against scikit-learn and against loops over all items or pairs; degenerate tables; very large counts."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, permutations
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import pair_confusion_matrix

from likewise.evaluation import (
    PairScores,
    accuracy,
    apply_matching,
    ari,
    confusion,
    known_and_new,
    match_outputs,
    nmi,
    pair_scores,
    scores,
)

AVERAGES = ("geometric", "arithmetic", "min", "max")
labelings = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=25)
Labeling = list[tuple[int, int]]


def table(items: Labeling) -> np.ndarray:
    return confusion([k for k, _ in items], [c for _, c in items], n_outputs=5, n_classes=4)


@given(labelings)
def test_accuracy_equals_a_loop_over_items(items: Labeling) -> None:
    matching = match_outputs(table(items[: len(items) // 2]))  # fitted on one half
    right = sum(matching[k] == c for k, c in items)
    assert accuracy(table(items), matching) == right / len(items)


@given(labelings)
def test_pair_scores_equal_a_loop_over_pairs(items: Labeling) -> None:
    both = output = label = 0
    for (k1, c1), (k2, c2) in combinations(items, 2):
        output += k1 == k2
        label += c1 == c2
        both += k1 == k2 and c1 == c2
    found = pair_scores(table(items))
    assert found.precision == (both / output if output else 0.0)
    assert found.recall == (both / label if label else 0.0)
    harmonic = 2 * found.precision * found.recall / (found.precision + found.recall) if both else 0.0
    assert found.f1 == pytest.approx(harmonic)


@given(labelings)
def test_pair_scores_equal_scikit_learn(items: Labeling) -> None:
    (_, extra), (missed, both) = pair_confusion_matrix([c for _, c in items], [k for k, _ in items])
    assume(both > 0)
    expected = PairScores(both / (both + extra), both / (both + missed), 2 * both / (2 * both + extra + missed))
    assert pair_scores(table(items)) == pytest.approx(expected)


@given(labelings)
def test_ari_equals_scikit_learn(items: Labeling) -> None:
    expected = adjusted_rand_score([c for _, c in items], [k for k, _ in items])
    assert ari(table(items)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
@given(items=labelings)
def test_nmi_equals_scikit_learn(average: Any, items: Labeling) -> None:
    outputs, labels = [k for k, _ in items], [c for _, c in items]
    expected = normalized_mutual_info_score(labels, outputs, average_method=average)
    assert nmi(table(items), average) == pytest.approx(expected, abs=1e-9)


@given(labelings)
def test_nmi_equals_its_definition(items: Labeling) -> None:
    def entropy(values: list[object]) -> float:
        return -sum(values.count(v) / len(values) * math.log(values.count(v) / len(values)) for v in set(values))

    h_outputs, h_classes = entropy([k for k, _ in items]), entropy([c for _, c in items])
    assume(h_outputs > 0 and h_classes > 0)
    information = h_outputs + h_classes - entropy(list(items))
    assert nmi(table(items)) == pytest.approx(information / math.sqrt(h_outputs * h_classes), abs=1e-9)


@given(labelings, st.permutations(range(5)), st.permutations(range(4)))
def test_order_of_outputs_and_classes_does_not_matter(items: Labeling, rows: list[int], columns: list[int]) -> None:
    counts = table(items)
    shuffled = counts[rows][:, columns]
    expected = scores(counts, match_outputs(counts))
    assert scores(shuffled, match_outputs(shuffled)) == pytest.approx(expected, abs=1e-12)


@given(labelings)
def test_renamed_classes_are_perfect(items: Labeling) -> None:
    counts = table([((c + 1) % 4, c) for _, c in items])
    found = scores(counts, match_outputs(counts))
    no_pair = counts.max() < 2  # all items alone: no pair to be right about
    expected = {"accuracy": 1.0, "error": 0.0, "nmi": 1.0, "ari": 1.0}
    expected |= dict.fromkeys(("pair_precision", "pair_recall", "pair_f1"), 0.0 if no_pair else 1.0)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("counts", "expected"),  # accuracy, NMI, ARI, then precision, recall and F1 of pairs
    [
        (np.zeros((0, 0), dtype=np.int64), (0, 0, 0, 0, 0, 0)),
        (np.zeros((3, 0), dtype=np.int64), (0, 0, 0, 0, 0, 0)),
        (np.zeros((3, 2), dtype=np.int64), (0, 0, 0, 0, 0, 0)),
        (confusion([0, 1, 2], [-1, -1, -1], 3, 2), (0, 0, 0, 0, 0, 0)),  # every item unlabelled
        ([[1]], (1, 1, 1, 0, 0, 0)),  # one item: the partitions are equal, but there is no pair
        ([[1, 0], [0, 1]], (1, 1, 1, 0, 0, 0)),  # every item alone: the same
        ([[5]], (1, 1, 1, 1, 1, 1)),  # one class in one output
        ([[2], [2]], (1 / 2, 0, 0, 1, 1 / 3, 1 / 2)),  # one class over two outputs: 2 of its 6 pairs kept together
        ([[2, 2], [0, 0]], (1 / 2, 0, 0, 1 / 3, 1, 1 / 2)),  # two classes in one output
        ([[4, 4], [4, 4]], (1 / 2, 0, -1 / 14, 3 / 7, 3 / 7, 3 / 7)),  # independent: 4 * 6 of 2 * 28 pairs
    ],
)
def test_degenerate_tables_have_finite_scores(counts: np.ndarray, expected: tuple[float, ...]) -> None:
    found = scores(counts, match_outputs(counts))
    assert found.pop("error") == 1 - found["accuracy"]
    assert list(found) == ["accuracy", "nmi", "ari", "pair_precision", "pair_recall", "pair_f1"]
    assert list(found.values()) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scale", [10**6, 10**8])
def test_large_counts_do_not_overflow(scale: int) -> None:
    # Up to 2,000 million items: products of pair counts pass 10^36, where int64 ends at 10^19.
    small = [[7, 1, 0], [2, 3, 0], [0, 1, 6]]
    counts = [[scale * n for n in row] for row in small]

    def pairs(n: int) -> Fraction:
        return Fraction(n * (n - 1), 2)

    both = sum(pairs(n) for row in counts for n in row)
    output = sum(pairs(sum(row)) for row in counts)
    label = sum(pairs(sum(column)) for column in zip(*counts, strict=True))
    chance = output * label / pairs(20 * scale)
    assert ari(counts) == pytest.approx(float((both - chance) / ((output + label) / 2 - chance)), rel=1e-12)
    assert pair_scores(counts) == pytest.approx(
        (float(both / output), float(both / label), float(2 * both / (output + label)))
    )
    assert nmi(counts) == pytest.approx(nmi(small), rel=1e-12)  # shares alone matter
    assert accuracy(counts, [0, 1, 2]) == 0.8


def test_counts_in_narrow_integers_do_not_overflow() -> None:
    counts = np.array([[100, 90], [80, 120]])
    assert scores(counts.astype(np.int8), [0, 1]) == scores(counts, [0, 1])


def test_geometric_nmi_is_above_arithmetic() -> None:
    counts = [[5, 0], [0, 5], [0, 5]]
    assert nmi(counts) == pytest.approx(math.sqrt(nmi(counts, "min") * nmi(counts, "max")))
    assert nmi(counts) > nmi(counts, "arithmetic")


def test_accuracy_of_unmatched_outputs_is_error() -> None:
    assert accuracy([[6, 0], [0, 3], [1, 0]], [0, -1, -1]) == 0.6
    assert accuracy([[6, 0], [0, 3], [1, 0]], [-1, -1, -1]) == 0.0


@pytest.mark.parametrize(
    ("matching", "message"),
    [
        ([0], "one class for each of 2 outputs, got shape"),
        ([[0, 1]], "one class for each of 2 outputs, got shape"),
        ([0, 2], "classes from 0 to 1, or -1"),
        ([0, -2], "classes from 0 to 1, or -1"),
        ([0.0, 1.0], "classes from 0 to 1, or -1"),
    ],
)
def test_accuracy_refuses(matching: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        accuracy([[1, 0], [0, 1]], matching)


def test_nmi_refuses_an_unknown_average() -> None:
    with pytest.raises(ValueError, match="average must be geometric, arithmetic, min or max, got 'mean'"):
        nmi([[1]], average="mean")


@pytest.mark.parametrize("score", [nmi, ari, pair_scores])
def test_scores_refuse_what_is_no_matrix(score: Any) -> None:
    with pytest.raises(ValueError, match="confusion must be a matrix"):
        score([1, 2])


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
def test_order_of_outputs_and_classes_does_not_matter_to_the_matching(counts: np.ndarray, random: Random) -> None:
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


def test_one_matching_for_both_parts() -> None:
    truth = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 4)
    labels = np.array(["a"] * 4 + ["b", "b", "b", "new 1"] + ["a"] * 3 + ["new 1"])
    found = known_and_new(labels, truth, np.isin(truth, ["a", "b"]))
    assert found == (8 / 12, 7 / 8, 1 / 4)


def test_a_pile_without_known_classes() -> None:
    found = known_and_new([0, 0, 1], [5, 5, 7], np.zeros(3, dtype=bool))
    assert found.all == found.new == 1
    assert math.isnan(found.old)
