"""What joining and placing groups is worth, against the objective written out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from likewise.clustering.geometry import (
    Geometry,
    Means,
    Neighbours,
    Sphere,
    diffusion,
    nearest,
    shared_neighbours,
    whitened_within,
)
from likewise.clustering.lsc import unit_rows

RANDOM = np.random.default_rng(0)
ROWS = unit_rows(RANDOM.normal(size=(30, 4)))
GRAPH = shared_neighbours(nearest(ROWS, 5))
GEOMETRIES = [Means(ROWS, 3.0), Sphere(ROWS, 3.0), Neighbours(GRAPH, 3.0)]


def objective(geometry: Geometry, labels: np.ndarray) -> float:
    """F, one cluster after another."""
    total = 0.0
    for k in np.unique(labels):
        inside = labels == k
        if isinstance(geometry, Means):
            total -= float(((geometry.rows[inside] - geometry.rows[inside].mean(axis=0)) ** 2).sum()) / 2
        elif isinstance(geometry, Sphere):
            total += float(np.linalg.norm(ROWS[inside].sum(axis=0)))
        else:
            degree = GRAPH.toarray().sum(axis=1)
            within = GRAPH.toarray()[np.ix_(inside, inside)].sum()
            total += float(within - degree[inside].sum() ** 2 / degree.sum()) / 2
    return 3.0 * total


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_gain_is_the_change_of_the_objective(geometry: Geometry) -> None:
    labels = RANDOM.integers(0, 6, 30)
    gains = geometry.groups(labels, 6).gains()
    for p in range(6):
        for q in range(p):
            joined = np.where(labels == q, p, labels)
            assert gains[p, q] == pytest.approx(objective(geometry, joined) - objective(geometry, labels))


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_gains_after_a_join_are_those_of_the_joined_groups(geometry: Geometry) -> None:
    labels = RANDOM.integers(0, 6, 30)
    groups = geometry.groups(labels, 6)
    groups.join(1, 4)
    left = np.array([0, 1, 2, 3, 1, 4])[labels]  # what there is after the join
    fresh = geometry.groups(left, 5)
    assert groups.gains_of(1)[[0, 2, 3, 5]] == pytest.approx(fresh.gains()[1][[0, 2, 3, 4]])


@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_a_place_is_worth_what_the_objective_gains_by_it(geometry: Geometry) -> None:
    fine = RANDOM.permutation(np.arange(30) % 8)
    cluster = np.array([0, 0, 1, 1, 2, 2, 2, 0])
    places = geometry.groups(fine, 8).places(cluster, 3)
    for group in range(8):
        values = []
        for k in range(3):
            moved = cluster.copy()
            moved[group] = k
            values.append(objective(geometry, moved[fine]))
        assert places[group] - places[group, 0] == pytest.approx(np.array(values) - values[0])


def test_neighbours_in_common_weigh_the_edges() -> None:
    graph = shared_neighbours(nearest(np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]), 2)).toarray()
    assert (graph == graph.T).all()
    assert (graph[:3, 3:] == 0).all()
    assert graph[:3, :3] == pytest.approx((1 - np.eye(3)) / 2)  # all three share all, and each has the degree 2


def test_a_walk_puts_connected_items_at_one_place() -> None:
    blocks = csr_array(np.kron(np.eye(2), (1 - np.eye(4)) / 3))
    for n_vectors in (2, 8):  # by products with vectors, and in full
        rows = diffusion(blocks, n_vectors)
        together = rows @ rows.T
        assert (together[:4, :4] > together[:4, 4:].max() + 0.5).all()


def test_whitened_clusters_are_round() -> None:
    random = np.random.default_rng(0)
    labels = np.arange(4000) % 2
    rows = random.normal(size=(4000, 2)) * (1.0, 10.0) + np.outer(labels, (4.0, 0.0))
    white = whitened_within(rows, np.eye(2)[labels])
    centred = white - np.array([white[labels == k].mean(axis=0) for k in range(2)])[labels]
    np.testing.assert_allclose(centred.T @ centred / len(rows), np.eye(2), atol=0.05)
    assert adjusted_rand_score(labels, KMeans(2, n_init=5, random_state=0).fit_predict(rows)) < 0.1
    assert adjusted_rand_score(labels, KMeans(2, n_init=5, random_state=0).fit_predict(white)) > 0.8


def test_items_that_are_all_the_same_stay_so() -> None:
    white = whitened_within(np.ones((6, 3)), np.eye(2)[[0, 0, 0, 1, 1, 1]])
    assert np.isfinite(white).all()
    assert (white == white[0]).all()
