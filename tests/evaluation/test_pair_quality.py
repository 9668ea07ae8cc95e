"""The quality of a similarity, against scikit-learn's precision and recall."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from likewise.evaluation import calibration, pair_quality


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
