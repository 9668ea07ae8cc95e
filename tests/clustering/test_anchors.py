"""Grouping around anchors: labelled items keep their class, known classes are never joined, answers join in."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from likewise.clustering.agglomeration import Candidate
from likewise.clustering.anchors import AnchoredOdds, anchored, group_around, judge_geometries, most_agreed, refined
from likewise.clustering.geometry import Means
from likewise.clustering.linkage import Odds

X, Y = make_blobs(240, centers=6, n_features=6, cluster_std=1.0, random_state=3)
ANCHORS = np.where((Y < 3) & (np.arange(240) % 3 == 0), Y, -1)


def nothing(n: int = 240) -> Odds:
    return Odds(n, np.empty((0, 2), dtype=np.int64), np.empty(0))


def test_known_classes_come_first_and_new_ones_after_them() -> None:
    found = group_around(X, ANCHORS, nothing(), 6, 0)
    labels = found.posterior.argmax(1)
    np.testing.assert_array_equal(labels[Y < 3], Y[Y < 3])
    assert all(len(np.unique(labels[c == Y])) == 1 for c in range(3, 6))
    assert set(labels[Y >= 3]) == {3, 4, 5}
    np.testing.assert_allclose(found.posterior.sum(1), 1)


def test_a_label_stays_even_where_the_geometry_denies_it() -> None:
    wrong = ANCHORS.copy()
    stranger = int(np.flatnonzero(Y == 5)[0])
    wrong[stranger] = 0
    found = group_around(X, wrong, nothing(), 6, 0)
    assert found.posterior[stranger].argmax() == 0
    assert (found.opinions[stranger] == 0).all()


def test_two_known_classes_in_one_place_are_not_joined() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 3))
    anchors = np.full(60, -1)
    anchors[:10], anchors[10:20] = 0, 1
    labels = group_around(rows, anchors, nothing(60), 2, 0).posterior.argmax(1)
    np.testing.assert_array_equal(labels[:20], anchors[:20])


def test_answers_between_items_of_the_pile_move_them() -> None:
    """Two halves of one blob that answers say are different come apart."""
    rows, y = make_blobs(160, centers=3, n_features=4, cluster_std=0.7, random_state=1)
    half = np.where(y == 2, 2 + (rows[:, 0] > np.median(rows[y == 2, 0])), y)
    random = np.random.default_rng(0)
    ends = random.integers(160, size=(1500, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    credit = np.where(half[ends[:, 0]] == half[ends[:, 1]], 1.0, -1.0)
    anchors = np.where((y == 0) & (np.arange(160) % 2 == 0), 0, -1)
    labels = group_around(rows, anchors, Odds(160, ends, credit, 4), 4, 0).posterior.argmax(1)
    first, second = (np.bincount(labels[half == k], minlength=4).argmax() for k in (2, 3))
    assert first != second
    assert (labels[half == 0] == 0).all()


def test_labels_are_links_in_the_matrix_of_odds() -> None:
    odds = AnchoredOdds(4, np.array([[2, 3]]), np.array([1.0]), anchors=np.array([0, 1, 1, -1]))
    matrix = odds.matrix(0.05).toarray()
    assert matrix[0, 1] == matrix[1, 0] < -1e5
    assert (np.diag(matrix) > 100).tolist() == [True, True, True, False]
    assert matrix[2, 3] == matrix[3, 2] == np.log(0.95 / 0.05)
    assert len(odds.select(np.array([False]))) == 0
    np.testing.assert_array_equal(odds.select(np.array([False])).anchors, odds.anchors)


def test_anchors_are_groups_of_their_own_in_the_order_of_the_classes() -> None:
    candidate = Candidate("", Means(np.zeros((5, 1)), 1.0), np.array([0, 0, 1, 1, 1]), 2)
    found = anchored(candidate, np.array([1, -1, 0, 1, -1]))
    assert found.fine.tolist() == [1, 2, 0, 1, 3]
    assert found.n_fine == 4


def test_geometries_that_find_known_classes_count_more() -> None:
    """Two rings: neighbours find them, means do not."""
    angle = np.random.default_rng(0).uniform(0, 2 * np.pi, 400)
    codes = np.arange(400) % 2
    rows = np.stack([np.cos(angle), np.sin(angle)], axis=1) * np.where(codes, 1.0, 4.0)[:, None]
    prior = judge_geometries(rows, codes, 0)
    assert prior["items, k-means"] < -5 < prior["items, neighbours"] == 0


def test_partitions_are_matched_with_the_one_that_most_agree_with() -> None:
    """One of five has two classes in one cluster, and a fragment of another class in the cluster that is left."""
    truth = np.repeat(np.arange(4), 10)
    odd = np.where(truth == 3, 2, truth)
    odd[:2] = 3
    others = [truth, truth[::-1].copy(), (truth + 1) % 4, (truth + 2) % 4]
    assert most_agreed([odd, *others], np.full(5, 0.2)) != 0
    assert most_agreed([odd, *others], np.array([5.0, 0.2, 0.2, 0.2, 0.2])) == 0


def test_refined_by_labels_in_a_direction_that_clusters_do_not_see() -> None:
    """Two known classes differ little along one column, beside wide noise, and a new one is far away."""
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    rows = np.column_stack([1.5 * y + 0.3 * random.normal(size=600), 3 * random.normal(size=600), 9.0 * (y == 2)])
    anchors = np.where((y < 2) & (np.arange(600) % 2 == 0), y, -1)
    guessed = np.where(y == 2, 2, (rows[:, 1] > 0).astype(int))  # along the noise
    before = 0.1 + 0.7 * np.eye(3)[np.where(anchors >= 0, anchors, guessed)]
    after = refined(rows, anchors, before, 0).argmax(1)
    rest = anchors < 0
    assert (after[~rest] == y[~rest]).all()
    assert (after[y == 2] == 2).all()
    assert (after[rest] == y[rest]).mean() > (guessed[rest] == y[rest]).mean() + 0.1
