"""COSC: answers that can be kept are, and J is what it says."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import COSC
from likewise.clustering.distances import neighbour_graph

X, y = make_blobs(48, centers=3, cluster_std=0.8, random_state=0)


def test_groups_without_answers() -> None:
    points, group = make_blobs(45, centers=[[0, 0], [8, 0], [0, 8]], random_state=1)
    assert adjusted_rand_score(group, COSC(3, neighbours=6).fit(points).labels_) == 1


@pytest.mark.parametrize("seed", range(4))
def test_two_clusters_keep_all_answers(seed: int) -> None:
    random = np.random.default_rng(seed)
    side = random.integers(0, 2, 48)  # against all that the items show
    pairs = Pairs.from_labels(side, n=60, random_state=seed)
    found = COSC(2).fit(X, pairs=pairs)
    same = found.labels_[pairs.left] == found.labels_[pairs.right]
    np.testing.assert_array_equal(same, pairs.same > 0.5)
    assert found.n_violated_ == 0


def test_blocks_that_the_items_would_not_part() -> None:
    pairs = Pairs.from_links([(i, i + 1) for i in range(0, 47) if i != 29], [])  # items 0 to 29, and 30 to 47
    labels = COSC(2).fit(np.random.default_rng(3).normal(size=(48, 2)), pairs=pairs).labels_
    assert adjusted_rand_score(np.arange(48) > 29, labels) == 1


def test_three_that_are_all_different_are_more_than_two_clusters_hold() -> None:
    pairs = Pairs.from_links([(3, 4)], [(0, 1), (1, 2), (0, 2)])
    assert COSC(2).fit(X, pairs=pairs).n_violated_ == 1
    assert COSC(3).fit(X, pairs=pairs).n_violated_ == 0


def test_the_objective_is_j() -> None:
    pairs = Pairs.from_labels(np.roll(y, 3), n=80)
    found = COSC(4, penalty=0.5, neighbours=6).fit(X, pairs=pairs)
    W = neighbour_graph(X, 6, "gaussian").toarray()
    labels, violated, expected = found.labels_, 0, 0.0
    for cluster in range(4):
        inside = labels == cluster
        paid = W[np.ix_(inside, ~inside)].sum()
        for i, j, same in zip(pairs.left, pairs.right, pairs.same, strict=True):
            if same and inside[i] != inside[j]:
                paid += 0.5
                violated += 1
            if not same and inside[i] and inside[j]:
                paid += 0.5 * 2
                violated += 2
        expected += paid / W[inside].sum()
    assert found.objective_[-1] == pytest.approx(expected)
    assert found.n_violated_ == violated / 2


def test_more_penalty_fewer_violated() -> None:
    pairs = Pairs.from_labels(np.roll(y, 5), n=150)
    violated = [COSC(2, penalty=penalty).fit(X, pairs=pairs).n_violated_ for penalty in (0.0, 0.1, 10.0)]
    assert violated[0] > violated[2]
    assert violated[0] >= violated[1] >= violated[2]


def test_the_order_of_items_does_not_matter() -> None:
    pairs = Pairs.from_labels(y, n=200)
    order = np.random.default_rng(0).permutation(48)
    place = np.argsort(order)
    moved = Pairs.from_arrays(np.stack([place[pairs.left], place[pairs.right]], 1), pairs.same)
    ours, theirs = COSC(3).fit(X, pairs=pairs), COSC(3).fit(X[order], pairs=moved)
    assert adjusted_rand_score(ours.labels_[order], theirs.labels_) == 1
    assert adjusted_rand_score(ours.labels_, y) == 1


def test_as_many_clusters_as_items() -> None:
    assert sorted(COSC(6, neighbours=2).fit(X[:6]).labels_.tolist()) == [0, 1, 2, 3, 4, 5]
