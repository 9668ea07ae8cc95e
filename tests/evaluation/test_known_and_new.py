"""All, old and new: one matching over all items, and NaN where there is nothing to judge."""

from __future__ import annotations

import math

import numpy as np

from likewise.evaluation import known_and_new


def test_one_matching_for_both_parts() -> None:
    truth = np.array(["a"] * 4 + ["b"] * 4 + ["c"] * 4)
    labels = np.array(["a"] * 4 + ["b", "b", "b", "new 1"] + ["a"] * 3 + ["new 1"])
    found = known_and_new(labels, truth, np.isin(truth, ["a", "b"]))
    assert found == (8 / 12, 7 / 8, 1 / 4)


def test_a_pile_without_known_classes() -> None:
    found = known_and_new([0, 0, 1], [5, 5, 7], np.zeros(3, dtype=bool))
    assert found.all == found.new == 1
    assert math.isnan(found.old)
