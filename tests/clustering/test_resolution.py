"""The number of classes at the resolution of known ones: new piles, mixed piles, and how far it is sure."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from likewise.clustering.linkage import Odds
from likewise.clustering.resolution import count_with_known


def nothing(n: int) -> Odds:
    return Odds(n, np.empty((0, 2), dtype=np.int64), np.empty(0))


@pytest.mark.parametrize("n_new", [3, 9])
def test_blobs_beside_known_ones(n_new: int) -> None:
    rows, y = make_blobs(40 * (6 + n_new), centers=6 + n_new, n_features=10, random_state=n_new)
    known = y < 6
    found = count_with_known(
        rows[known], y[known], rows[~known], nothing((~known).sum()), mixed=False, largest=100, seed=0
    )
    assert found.estimate == n_new
    assert found.low <= n_new < found.high


def test_digits_are_not_split_into_ways_to_write_them() -> None:
    """Without known classes there would be twice as many."""
    rows, y = load_digits(return_X_y=True)
    rows, y = rows[:1200], y[:1200]
    known = y < 5
    found = count_with_known(
        rows[known], y[known], rows[~known], nothing((~known).sum()), mixed=False, largest=100, seed=0
    )
    assert 4 <= found.estimate <= 6


def test_a_mixed_pile_counts_all_and_one_without_new_classes_the_known() -> None:
    rows, y = make_blobs(600, centers=10, n_features=10, random_state=0)
    labelled = (y < 6) & (np.arange(600) % 2 == 0)
    for pile, truth in ((~labelled, 10), (~labelled & (y < 6), 6)):
        found = count_with_known(
            rows[labelled], y[labelled], rows[pile], nothing(pile.sum()), mixed=True, largest=100, seed=0
        )
        assert found.estimate == truth
        assert found.low >= 6


def test_never_more_than_the_largest() -> None:
    rows, y = make_blobs(400, centers=10, n_features=10, random_state=0)
    known = y < 4
    found = count_with_known(
        rows[known], y[known], rows[~known], nothing((~known).sum()), mixed=False, largest=5, seed=0
    )
    assert found.estimate == found.high == 5
