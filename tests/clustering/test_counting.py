"""The number of classes from answers and geometry, where it is known, and where one of the two says nothing."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs

from likewise.clustering.counting import MOST_ITEMS, count_classes, items_to_count
from likewise.clustering.linkage import Odds
from likewise.evaluation import NumberOfClasses

NO_PAIRS = np.empty((0, 2), dtype=np.int64)


def answers(y: np.ndarray, n: int, wrong: float = 0.0, seed: int = 0) -> Odds:
    """Of random pairs, a share of them wrong."""
    random = np.random.default_rng(seed)
    left = random.integers(len(y), size=n)
    ends = np.stack([left, (left + random.integers(1, len(y), size=n)) % len(y)], axis=1)
    right = random.random(n) >= wrong
    return Odds(len(y), ends, np.where((y[ends[:, 0]] == y[ends[:, 1]]) == right, 1.0, -1.0))


def count(X: np.ndarray, odds: Odds, seed: int = 0) -> NumberOfClasses:
    return count_classes({"items": X}, odds, seed)


@pytest.mark.parametrize("wrong", [0.0, 0.05])
@pytest.mark.parametrize("n_classes", [3, 8, 20])
def test_classes_that_are_clusters(n_classes: int, wrong: float) -> None:
    X, y = make_blobs(400, n_features=10, centers=n_classes, cluster_std=2.0, random_state=n_classes)
    found = count(X, answers(y, 400, wrong))
    assert abs(found.estimate - n_classes) <= math.ceil((0.1 + wrong) * n_classes)
    assert found.low <= n_classes <= found.high
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("wrong", [0.05, 0.1])
def test_wrong_answers_do_not_merge_classes(wrong: float) -> None:
    """Of 30 classes one random pair in 30 is the same, so that most answers "same" are wrong ones."""
    X, y = make_blobs(600, n_features=10, centers=30, cluster_std=2.5, random_state=0)
    found = count(X, answers(y, 1000, wrong))
    assert 27 <= found.estimate <= 34
    assert found.low <= 30 <= found.high


def test_classes_of_unequal_size() -> None:
    X, y = make_blobs([150, 100, 60, 40, 20, 12], n_features=6, random_state=0)
    found = count(X, answers(y, 400))
    assert abs(found.estimate - 6) <= 1  # 1 / sum p^2 is 3.8


def test_clusters_that_are_halves_of_classes() -> None:
    """Geometry says 12, as it does without answers; the answers know that two are one class."""
    X, y = make_blobs(480, n_features=10, centers=12, random_state=1)
    assert count(X, Odds(480, NO_PAIRS, np.empty(0))).estimate == 12
    found = count(X, answers(y // 2, 1000))
    assert abs(found.estimate - 6) <= 1
    assert found.high < 12


def test_answers_about_all_pairs_count_where_geometry_says_nothing() -> None:
    X, y = np.random.default_rng(0).normal(size=(48, 4)), np.arange(48) % 12
    ends = np.array(list(combinations(range(48), 2)))
    found = count(X, Odds(48, ends, np.where(y[ends[:, 0]] == y[ends[:, 1]], 1.0, -1.0)))
    assert abs(found.estimate - 12) <= 1


def test_answers_that_were_not_drawn_at_random() -> None:
    """As many "same" as "different": their share says nothing, and the interval knows it."""
    X, y = make_blobs(400, n_features=10, centers=10, cluster_std=2.0, random_state=0)
    every = answers(y, 6000)
    same = every.credit > 0
    chosen = np.zeros(len(every), dtype=np.bool_)
    chosen[np.concatenate([np.flatnonzero(same)[:200], np.flatnonzero(~same)[:200]])] = True
    found = count(X, every.select(chosen))
    assert found.low <= 10 <= found.high
    assert abs(found.estimate - 10) <= 2


@pytest.mark.parametrize("credit", [1.0, -1.0])
def test_answers_of_one_kind_leave_it_to_geometry(credit: float) -> None:
    X, y = make_blobs(200, n_features=6, centers=5, random_state=0)
    every = answers(y, 300)
    found = count(X, every.select(np.sign(every.credit) == credit))
    assert 4 <= found.estimate <= 6


def test_digits() -> None:
    X, y = load_digits(return_X_y=True)
    found = count(X[:900], answers(y[:900], 500))
    assert 9 <= found.estimate <= 11
    assert found.low <= 10 <= found.high
    without = count(X[:900], Odds(900, NO_PAIRS, np.empty(0)))
    assert 5 <= without.estimate <= 20
    assert without.high - without.low > found.high - found.low


def test_more_answers_narrow_the_interval() -> None:
    X, y = make_blobs(400, n_features=3, centers=10, cluster_std=2.0, random_state=0)
    widths = [math.log(found.high / found.low) for found in (count(X, answers(y, n)) for n in (60, 2000))]
    assert widths[1] < 0.8 * widths[0]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_items(n: int) -> None:
    X, y = np.arange(n, dtype=np.float64)[:, None], np.arange(n) % 2
    for odds in (Odds(n, NO_PAIRS, np.empty(0)), answers(y, 1), answers(y, 6)):
        found = count(X, odds)
        assert 2 <= found.low <= found.estimate <= found.high <= n


def test_items_that_are_all_the_same() -> None:
    assert count(np.zeros((30, 3)), Odds(30, NO_PAIRS, np.empty(0))).estimate == 2
    assert count(np.zeros((30, 3)), answers(np.arange(30) % 3, 200)).low >= 2


def test_the_same_seed_gives_the_same() -> None:
    X, y = make_blobs(150, centers=5, random_state=0)
    assert count(X, answers(y, 100), seed=3) == count(X, answers(y, 100), seed=3)


def test_of_many_items_those_with_answers_are_looked_at() -> None:
    odds = answers(np.arange(5000) % 7, 300)
    rows, among = items_to_count(odds, seed=0)
    assert len(rows) == len(np.unique(rows)) == MOST_ITEMS
    assert set(odds.ends.ravel()) <= set(rows.tolist())
    np.testing.assert_array_equal(rows[among.ends], odds.ends)
    np.testing.assert_array_equal(among.credit, odds.credit)
    few, some = items_to_count(answers(np.arange(5000) % 7, 9000), seed=0)
    assert len(few) == MOST_ITEMS
    assert 0 < len(some) < 9000
    assert some.ends.max() < MOST_ITEMS
