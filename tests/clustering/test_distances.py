"""Distances against loops, whichever way they are computed."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.clustering import distances
from likewise.clustering.distances import far_pair, farthest_pair, laplacian_times, squared_distances

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
