"""scikit-learn's own checks, for every method."""

from __future__ import annotations

from typing import Any

from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise.clustering import METHODS


@parametrize_with_checks([method() for method in METHODS.values()])
def test_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
