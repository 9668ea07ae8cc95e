"""Calibration against scikit-learn and a loop over the items, with empty bins, soft truths and nothing at all."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression

from likewise.evaluation import calibration, platt

hundredths = st.integers(0, 100).map(lambda i: i / 100)  # many of them on the edges of ten bins
predictions = st.lists(st.tuples(hundredths, st.booleans()), min_size=1, max_size=40)


@given(predictions, st.sampled_from([1, 2, 5, 10]))
def test_equals_scikit_learn(items: list[tuple[float, bool]], bins: int) -> None:
    said, true = [p for p, _ in items], [t for _, t in items]
    observed, predicted = calibration_curve([*true, True, False], [*said, 1.0, 0.0], n_bins=bins)
    found = calibration([*said, 1.0, 0.0], [*true, True, False], bins)  # it wants both truths to be there
    filled = found.count > 0
    np.testing.assert_allclose(found.observed[filled], observed)
    np.testing.assert_allclose(found.predicted[filled], predicted)
    assert found.count.sum() == len(items) + 2


@given(predictions)
def test_error_equals_a_loop_over_items(items: list[tuple[float, bool]]) -> None:
    found = calibration([p for p, _ in items], [t for _, t in items], bins=4)
    gaps = 0.0
    for b in range(4):
        inside = [(p, t) for p, t in items if (p > b / 4 or b == 0) and p <= (b + 1) / 4]
        assert found.count[b] == len(inside)
        gaps += abs(sum(t - p for p, t in inside))
    assert found.error == pytest.approx(gaps / len(items))


def test_by_hand() -> None:
    found = calibration([0.05, 0.15, 0.9, 0.7, 0.8], [0, 1, 1, 0.5, 1], bins=5)
    assert found.edges.tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    assert found.count.tolist() == [2, 0, 0, 2, 1]
    assert found.predicted[[0, 3, 4]].tolist() == pytest.approx([0.1, 0.75, 0.9])
    assert found.observed[[0, 3, 4]].tolist() == pytest.approx([0.5, 0.75, 1.0])
    assert np.isnan(found.predicted[[1, 2]]).all()
    assert np.isnan(found.observed[[1, 2]]).all()
    assert found.error == pytest.approx((2 * 0.4 + 2 * 0 + 1 * 0.1) / 5)


def test_nothing_predicted_nothing_claimed() -> None:
    found = calibration([], [])
    assert found.count.tolist() == [0] * 10
    assert math.isnan(found.error)


def test_takes_tensors_and_their_rounding() -> None:
    found = calibration(torch.tensor([1.0000001, -1e-7]), torch.tensor([True, False]))
    assert found.predicted[[0, 9]].tolist() == [0, 1]
    assert found.error == 0


@pytest.mark.parametrize(
    ("probability", "truth", "bins", "message"),
    [
        ([0.5], [1, 0], 10, "equal length, got 1 and 2"),
        ([1.2], [1], 10, "probability must be between 0 and 1, got values from 1.2 to 1.2"),
        ([float("nan")], [1], 10, "probability must be between 0 and 1"),
        ([0.5], [-1], 10, "truth must be between 0 and 1"),
        ([[0.5]], [1], 10, r"probability must have one dimension, got shape \(1, 1\)"),
        ([0.5], [1], 0, "bins must be at least 1, got 0"),
    ],
)
def test_refuses(probability: Any, truth: Any, bins: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        calibration(probability, truth, bins)


@pytest.mark.parametrize(("slope", "offset", "scale"), [(2.0, -1.0, 1.0), (0.01, 3.0, 100.0), (-4.0, 0.0, 0.3)])
def test_against_logistic_regression(slope: float, offset: float, scale: float) -> None:
    random = np.random.default_rng(0)
    scores = scale * random.normal(size=20_000)
    truth = random.random(20_000) < 1 / (1 + np.exp(-(slope * scores + offset)))
    found = platt(scores, truth)
    peer = LogisticRegression(C=np.inf, tol=1e-8).fit(scores[:, None] / scale, truth)
    assert found == pytest.approx((peer.coef_[0, 0] / scale, peer.intercept_[0]), rel=0.02, abs=0.02)


def test_scores_without_a_fault_stay_finite() -> None:
    slope, offset = platt([-1.0, -2.0, 1.0, 2.0], [0, 0, 1, 1])
    assert 0 < slope < 100
    p = 1 / (1 + np.exp(-(slope * np.array([-2.0, 2.0]) + offset)))
    assert p[0] < 0.3 < 0.7 < p[1]


@pytest.mark.parametrize(("lower", "upper", "n_0", "n_1"), [(0.0, 1.0, 3, 2), (-40.0, 7.0, 1, 9), (2.0, -2.0, 6, 1)])
def test_the_targets_of_both_kinds(lower: float, upper: float, n_0: int, n_1: int) -> None:
    """With one score for each kind, two numbers fit both targets exactly."""
    slope, offset = platt([lower] * n_0 + [upper] * n_1, [0] * n_0 + [1] * n_1)
    p = 1 / (1 + np.exp(-(slope * np.array([lower, upper]) + offset)))
    assert p == pytest.approx([1 / (n_0 + 2), (n_1 + 1) / (n_1 + 2)], abs=1e-7)


def test_equal_scores_give_the_share() -> None:
    slope, offset = platt([5.0] * 100, [1] * 25 + [0] * 75)
    assert 1 / (1 + np.exp(-(slope * 5 + offset))) == pytest.approx(0.25, abs=0.02)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="both kinds"):
        platt([1.0, 2.0], [1, 1])
    with pytest.raises(ValueError, match="both kinds"):
        platt([1.0, 2.0], [0, 0])
    with pytest.raises(ValueError, match="equal length"):
        platt([1.0, 2.0], [1])
