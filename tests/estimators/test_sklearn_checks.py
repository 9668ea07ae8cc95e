"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

from likewise import PairClassifier, SemiSupervisedClassifier

ROUNDING = 1e-6  # of float32 features near 1: a batch of one is summed in another order than a batch of many

FAILING = {
    "PairClassifier": {
        "check_sample_weight_equivalence_on_dense_data": "batches of a network: an item of weight 0 has its place too",
    },
    "SemiSupervisedClassifier": {
        "check_classifiers_classes": "it takes -1 for a class, unless the estimator is one of scikit-learn's own",
    },
}
ESTIMATORS = [
    PairClassifier(epochs=8, batch_size=30),
    SemiSupervisedClassifier(epochs=8, batch_size=30, learning_rate=0.003),
]


@pytest.mark.filterwarnings("ignore:Every item has a label")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: FAILING[type(estimator).__name__])
def test_scikit_learn(estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = estimator_checks.assert_allclose

    def but_for_rounding(x: Any, y: Any, atol: float = 0.0, **options: Any) -> None:
        exact(x, y, atol=max(atol, ROUNDING), **options)

    monkeypatch.setattr(estimator_checks, "assert_allclose", but_for_rounding)
    check(estimator)
