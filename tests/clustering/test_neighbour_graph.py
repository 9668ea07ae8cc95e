"""The graph of nearest neighbours, against two loops over the items."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from likewise.clustering.neighbour_graph import neighbour_graph

X = np.random.default_rng(0).normal(size=(15, 2))


@pytest.mark.parametrize("weights", ["one", "gaussian"])
def test_who_is_near_whom(weights: Literal["one", "gaussian"]) -> None:
    distance = np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X])
    near = [set(np.argsort(row)[1:4].tolist()) for row in distance]
    reach = [sorted(row)[3] for row in distance]
    expected = np.zeros((15, 15))
    for i in range(15):
        for j in range(15):
            if j in near[i] or i in near[j]:
                expected[i, j] = 1.0 if weights == "one" else np.exp(-(distance[i, j] ** 2) / (reach[i] * reach[j]))
    np.testing.assert_allclose(neighbour_graph(X, 3, weights).toarray(), expected)


def test_scale_is_not_seen() -> None:
    ours, theirs = neighbour_graph(X, 3, "gaussian"), neighbour_graph(1e6 * X, 3, "gaussian")
    np.testing.assert_allclose(ours.toarray(), theirs.toarray())


def test_items_at_one_place() -> None:
    graph = neighbour_graph(np.array([[0.0], [0.0], [0.0], [5.0]]), 2, "gaussian").toarray()
    assert np.isfinite(graph).all()
    assert graph[0, 1] == 1


def test_more_neighbours_than_there_are() -> None:
    assert (neighbour_graph(X, 100, "one").toarray() == 1 - np.eye(15)).all()
