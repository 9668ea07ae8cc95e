"""Similarities against scikit-learn's precision and recall, and their trust against a loop over all triples."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, precision_score, recall_score

from likewise.evaluation import PairAccuracy, Trust, calibration, hard_answers, pair_accuracy, pair_quality, trust


def test_against_scikit_learn() -> None:
    random = np.random.default_rng(0)
    truth = random.random(500) < 0.3
    said = np.clip(0.6 * truth + 0.6 * random.random(500), 0, 1)
    found = pair_quality(said, truth)
    assert (found.n_same, found.n_different) == (int(truth.sum()), int((~truth).sum()))
    for kind, label in (("same", True), ("different", False)):
        assert getattr(found, f"{kind}_precision") == precision_score(truth, said > 0.5, pos_label=label)
        assert getattr(found, f"{kind}_recall") == recall_score(truth, said > 0.5, pos_label=label)
    assert found.calibration_error == pytest.approx(calibration(said, truth).error, abs=1e-6)


def test_one_half_is_not_said_to_be_the_same() -> None:
    found = pair_quality([0.5, 0.6], [0, 1])
    assert (found.same_precision, found.different_precision) == (1, 1)


def test_a_share_of_nothing_is_not_a_number() -> None:
    found = pair_quality([0.1, 0.2], [1, 1])
    assert math.isnan(found.same_precision)
    assert math.isnan(found.different_recall)
    assert (found.same_recall, found.different_precision) == (0, 0)


answered = st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=30)


@given(answered)
def test_equals_scikit_learn(items: list[tuple[float, bool]]) -> None:
    items = [*items, (0.3, True), (0.8, False)]  # balanced accuracy wants both answers to be there
    similarity, same = [s for s, _ in items], [t for _, t in items]
    said = [s > 0.5 for s in similarity]
    found = pair_accuracy(similarity, same)
    assert found.n == len(items)
    assert found.accuracy == pytest.approx(accuracy_score(same, said))
    assert found.balanced == pytest.approx(balanced_accuracy_score(same, said))
    assert found.same_recall == pytest.approx(recall_score(same, said))
    assert found.different_recall == pytest.approx(recall_score(same, said, pos_label=False))


def test_always_different_is_flattered_by_accuracy_alone() -> None:
    found = pair_accuracy(np.zeros(100), np.arange(100) < 10)
    assert found == PairAccuracy(same_hits=0, n_same=10, different_hits=90, n_different=90)
    assert (found.accuracy, found.balanced) == (0.9, 0.5)


def test_soft_answers_count_for_their_side_and_undecided_ones_not_at_all() -> None:
    same = torch.tensor([0.51, 0.49, 0.5, 0.9, 0.1])
    assert hard_answers(same).tolist() == [1, 0, -1, 1, 0]
    found = pair_accuracy([0.9, 0.1, 0.9, 0.4, 0.4], same)
    assert found == PairAccuracy(same_hits=1, n_same=2, different_hits=2, n_different=2)


def test_a_similarity_of_one_half_does_not_say_same() -> None:
    assert pair_accuracy([0.5, 0.5], [1, 0]) == PairAccuracy(0, 1, 1, 1)


def test_a_share_of_nothing_is_nan() -> None:
    alone = pair_accuracy([0.1, 0.9], [0, 0])
    assert (alone.accuracy, alone.different_recall) == (0.5, 0.5)
    assert math.isnan(alone.same_recall)
    assert math.isnan(alone.balanced)
    assert math.isnan(pair_accuracy([], []).accuracy)


@pytest.mark.parametrize(
    ("similarity", "same", "message"),
    [
        ([0.5], [1, 0], "similarity and same must be of equal length, got 1 and 2"),
        ([0.5], [float("nan")], "same must be between 0 and 1"),
        ([1.5], [1], "similarity must be between 0 and 1"),
        ([0.5], [-1], "same must be between 0 and 1, got values from -1.0 to -1.0"),
    ],
)
def test_refuses(similarity: Any, same: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pair_accuracy(similarity, same)


def blocks(*sizes: int, same: float = 0.95, different: float = 0.05) -> NDArray[np.float64]:
    """The similarity of classes that are told apart."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(label[:, None] == label, same, different)


def test_against_a_loop_over_all_triples() -> None:
    random = np.random.default_rng(0)
    s = random.random((9, 9))
    s = (s + s.T) / 2
    s[4], s[:, 4] = 0.1, 0.1  # this one is like no other
    chains = [(i, k) for i, j, k in itertools.permutations(range(9), 3) if s[i, j] > 0.5 and s[j, k] > 0.5]
    pairs = list(itertools.permutations(range(9), 2))
    found = trust(s)
    assert 0 < found.closed < 1
    assert found.closed == pytest.approx(sum(s[i, k] > 0.5 for i, k in chains) / len(chains))
    assert found.confident == pytest.approx(np.mean([s[i, j] < 0.2 or s[i, j] > 0.8 for i, j in pairs]))
    assert found.together == pytest.approx(np.mean([s[i, j] > 0.5 for i, j in pairs]))
    alone = [not any(s[i, j] > 0.5 for j in range(9) if j != i) for i in range(9)]
    assert alone[4]
    assert found.alone == pytest.approx(np.mean(alone))


def test_an_item_and_itself_do_not_count() -> None:
    s = blocks(3, 4, 5)
    assert trust(s) == trust(s * (1 - np.eye(12)))


def test_classes_that_are_told_apart_leave_no_doubt() -> None:
    found = trust(blocks(3, 4, 5))
    assert (found.confident, found.closed, found.alone) == (1, 1, 0)
    assert found.doubts == ()


def test_two_items_are_enough() -> None:
    assert trust([[1, 0.9], [0.9, 1]]) == Trust(1, 1, 0, 1)
    assert trust([[1, 0.5], [0.5, 1]]) == Trust(0, 1, 1, 0)


def test_one_half_is_not_the_same_and_the_limits_of_confidence_are_not_confident() -> None:
    s = np.array([[1, 0.2, 0.8], [0.2, 1, 0.5], [0.8, 0.5, 1]], dtype=np.float32)
    assert trust(s).confident == pytest.approx(np.mean([v < 0.2 or v > 0.8 for v in s[~np.eye(3, dtype=bool)]]))
    assert trust(s).together == pytest.approx(1 / 3)


RING = np.eye(20)
RING[np.arange(20), (np.arange(20) + 1) % 20] = RING[(np.arange(20) + 1) % 20, np.arange(20)] = 1  # i = i + 1 alone


@pytest.mark.parametrize(
    ("similarity", "doubt"),
    [
        (blocks(5, 5, same=0.7, different=0.3), "it is sure of 0 % of the pairs only"),
        (RING, "it contradicts itself in 100 % of the chains i = j = k"),
        (np.eye(10), "it finds nothing that is the same as 100 % of the items"),
        (np.full((10, 10), 0.9), "it takes 100 % of the pairs for the same"),
    ],
)
def test_each_kind_of_useless_is_said(similarity: NDArray[np.float64], doubt: str) -> None:
    assert trust(similarity).doubts == (doubt,)


def test_the_doubts_begin_past_their_limits() -> None:
    assert Trust(0.5, 0.5, 0.5, 0.9).doubts == ()
    assert len(Trust(0.49, 0.49, 0.51, 0.91).doubts) == 4


@pytest.mark.parametrize("similarity", [[0.5, 0.5], [[0.5]], np.ones((2, 3))])
def test_no_matrix_of_pairs_is_refused(similarity: object) -> None:
    with pytest.raises(ValueError, match=r"must be \(n, n\) for two items or more, got"):
        trust(similarity)  # type: ignore[arg-type]
