"""Platt scaling against scikit-learn's logistic regression, and where scores leave no doubt."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from likewise.evaluation import platt


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
