"""Distances against loops, whichever way they are computed."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from likewise.clustering import distances
from likewise.clustering.distances import (
    all_distances,
    factor,
    far_pair,
    farthest_pair,
    gaussian,
    laplacian_times,
    locally_scaled,
    median_distance,
    neighbour_graph,
    squared_distances,
)

RANDOM = np.random.default_rng(0)
LEFT, RIGHT = RANDOM.normal(size=(12, 3)), RANDOM.normal(size=(9, 3))


@pytest.mark.parametrize("n_pairs", [0, 3, 100])  # few are listed, many are taken from the product of all
def test_squared_distances(n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "AT_ONCE", 6)  # two pairs a block
    i, j = RANDOM.integers(0, 12, n_pairs), RANDOM.integers(0, 9, n_pairs)
    expected = [sum((LEFT[a, k] - RIGHT[b, k]) ** 2 for k in range(3)) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(squared_distances(LEFT, RIGHT, i, j), expected, atol=1e-12)


@pytest.mark.parametrize("n_edges", [2, 60])
def test_laplacian(n_edges: int) -> None:
    i, j, weight = RANDOM.integers(0, 12, n_edges), RANDOM.integers(0, 12, n_edges), RANDOM.normal(size=n_edges)
    expected = np.zeros((3, 3))
    for a, b, w in zip(i, j, weight, strict=True):
        expected += w * np.outer(LEFT[a] - LEFT[b], LEFT[a] - LEFT[b])
    np.testing.assert_allclose(LEFT.T @ laplacian_times(weight, i, j, LEFT), expected, atol=1e-12)


@pytest.mark.parametrize("at_once", [2**22, 25])  # all rows at once, two at a time
def test_farthest_pair(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distances, "AT_ONCE", at_once)
    for _ in range(20):
        items = RANDOM.normal(size=(12, 2)) + 1000  # far from the origin, where products cancel
        apart = ((items[:, None] - items) ** 2).sum(2)
        first, second = farthest_pair(items)
        assert apart[first, second] == pytest.approx(apart.max(), rel=1e-6)


def test_two_sweeps_find_a_far_pair() -> None:
    for start in range(12):
        apart = ((LEFT[:, None] - LEFT) ** 2).sum(2)
        first, second = far_pair(LEFT, start)
        assert first < second
        assert apart[first, second] in (apart[first].max(), apart[second].max())
        assert apart[first, second] >= apart[start].max()


X = np.random.default_rng(0).normal(size=(12, 3)) + 100


def test_distances_of_all() -> None:
    squared = all_distances(X)
    expected = [[((a - b) ** 2).sum() for b in X] for a in X]
    np.testing.assert_allclose(squared, expected, atol=1e-10)
    np.testing.assert_array_equal(squared, squared.T)
    assert (np.diag(squared) == 0).all()


def test_median_does_not_count_items_at_one_place() -> None:
    assert median_distance(all_distances(np.array([[0.0], [0.0], [0.0], [2.0]]))) == 4.0
    assert median_distance(np.zeros((3, 3))) == 1.0


def test_the_width_around_each_item() -> None:
    squared = all_distances(X)
    reach = [sorted(np.sqrt(row))[3] for row in squared]
    expected = [[np.exp(-squared[i, j] / (reach[i] * reach[j])) for j in range(12)] for i in range(12)]
    np.testing.assert_allclose(locally_scaled(squared, 3), expected)


def test_items_at_one_place_have_a_width_too() -> None:
    kernel = locally_scaled(all_distances(np.array([[0.0], [0.0], [0.0], [3.0]])), 1)
    assert np.isfinite(kernel).all()
    np.testing.assert_allclose(kernel[:3, :3], 1.0)


def test_a_factor_of_full_rank_is_the_kernel() -> None:
    kernel = gaussian(all_distances(X), 4.0)
    features = factor(kernel, energy=1.0)
    np.testing.assert_allclose(features @ features.T, kernel, atol=1e-10)


def test_a_factor_of_low_rank_is_the_nearest() -> None:
    kernel = gaussian(all_distances(X), 20.0)
    features = factor(kernel, energy=0.9)
    value = np.linalg.eigvalsh(kernel)[::-1]
    rank = features.shape[1]
    assert value[:rank].sum() >= 0.9 * value.sum() > value[: rank - 1].sum()
    error = np.sqrt(((features @ features.T - kernel) ** 2).sum())
    assert error == pytest.approx(np.sqrt((value[rank:] ** 2).sum()))  # Eckart and Young


ITEMS = np.random.default_rng(0).normal(size=(15, 2))


@pytest.mark.parametrize("weights", ["one", "gaussian"])
def test_who_is_near_whom(weights: Literal["one", "gaussian"]) -> None:
    distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in ITEMS] for a in ITEMS])
    near = [set(np.argsort(row)[1:4].tolist()) for row in distance]
    reach = [sorted(row)[3] for row in distance]
    expected = np.zeros((15, 15))
    for i in range(15):
        for j in range(15):
            if j in near[i] or i in near[j]:
                expected[i, j] = 1.0 if weights == "one" else np.exp(-(distance[i, j] ** 2) / (reach[i] * reach[j]))
    np.testing.assert_allclose(neighbour_graph(ITEMS, 3, weights).toarray(), expected)


def test_scale_is_not_seen() -> None:
    ours, theirs = (
        neighbour_graph(ITEMS, 3, "gaussian"),
        neighbour_graph(1e6 * ITEMS, 3, "gaussian"),
    )
    np.testing.assert_allclose(ours.toarray(), theirs.toarray())


def test_items_at_one_place() -> None:
    graph = neighbour_graph(np.array([[0.0], [0.0], [0.0], [5.0]]), 2, "gaussian").toarray()
    assert np.isfinite(graph).all()
    assert graph[0, 1] == 1


def test_more_neighbours_than_there_are() -> None:
    assert (neighbour_graph(ITEMS, 100, "one").toarray() == 1 - np.eye(15)).all()
