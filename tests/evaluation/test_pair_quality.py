"""The quality of a similarity, against scikit-learn's precision and recall."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, precision_score, recall_score

from likewise.evaluation import PairAccuracy, calibration, hard_answers, pair_accuracy, pair_quality


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
