"""The metric of a cluster: the closed form is the minimum, and a step never makes it worse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from likewise.clustering import mpck_metrics
from likewise.clustering.distances import farthest_pair
from likewise.clustering.mpck_metrics import Metric, Scatter, distances_under, improve, scatter, scatter_of_pairs

RANDOM = np.random.default_rng(0)
ITEMS = RANDOM.normal(size=(20, 3)) * [1.0, 2.0, 5.0]


@pytest.mark.parametrize("full", [False, True])
def test_spreads_are_sums_over_rows_and_pairs(full: bool) -> None:
    ends, weight = RANDOM.integers(0, 20, (30, 2)), RANDOM.normal(size=30)
    expected = np.zeros((3, 3))
    for (i, j), w in zip(ends, weight, strict=True):
        expected += w * np.outer(ITEMS[i] - ITEMS[j], ITEMS[i] - ITEMS[j])
    np.testing.assert_allclose(scatter_of_pairs(ITEMS, ends, weight, full), expected if full else expected.diagonal())
    ones = np.ones(20)
    np.testing.assert_allclose(scatter(ITEMS, ones, full), ITEMS.T @ ITEMS if full else (ITEMS**2).sum(0))


@pytest.mark.parametrize("n_pairs", [0, 5, 300])  # few are listed, many are taken from the products of all
@pytest.mark.parametrize("full", [False, True])
def test_distances_under_several_metrics(full: bool, n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mpck_metrics, "AT_ONCE", 6)  # two pairs a block
    ends, diagonals = RANDOM.integers(0, 20, (n_pairs, 2)), RANDOM.uniform(0.5, 2, (4, 3))
    metrics = [Metric(np.diag(A) if full else A) for A in diagonals]
    expected = [[((ITEMS[i] - ITEMS[j]) ** 2 * A).sum() for A in diagonals] for i, j in ends]
    np.testing.assert_allclose(distances_under(metrics, ITEMS, ends), np.reshape(expected, (-1, 4)), atol=1e-10)


def test_without_cannot_links_the_diagonal_is_the_minimum() -> None:
    made = Scatter((ITEMS**2).sum(0), c=0.0, n=20.0)
    best = improve(Metric(np.ones(3)), made, ITEMS, r=0.1, separated=False)
    found = minimize(lambda log: made.cost(Metric(np.exp(log)), ITEMS, 0.1), np.zeros(3))
    np.testing.assert_allclose(np.log(best.A), found.x, atol=1e-4)


def test_without_cannot_links_the_full_matrix_is_the_minimum() -> None:
    made = Scatter(ITEMS.T @ ITEMS, c=0.0, n=20.0)
    best = improve(Metric(np.eye(3)), made, ITEMS, r=0.1, separated=False)

    def cost(flat: np.ndarray) -> float:
        L = flat.reshape(3, 3)
        return made.cost(Metric(L @ L.T), ITEMS, 0.1)

    assert made.cost(best, ITEMS, 0.1) == pytest.approx(minimize(cost, np.eye(3).ravel()).fun)


@pytest.mark.parametrize("full", [False, True])
def test_broken_cannot_links_never_make_it_worse(full: bool) -> None:
    for seed in range(20):
        random = np.random.default_rng(seed)
        items = random.normal(size=(20, 3))
        ends = random.integers(0, 20, (8, 2))
        S = scatter(items, np.ones(20), full) - scatter_of_pairs(
            items, ends, np.full(8, 3.0), full
        )  # may be indefinite
        made = Scatter(S, c=24.0, n=20.0)
        metric = Metric(np.eye(3) if full else np.ones(3), farthest_pair(items))
        costs = [made.cost(metric, items, 0.1)]
        for _ in range(5):
            metric = improve(metric, made, items, 0.1, separated=True)
            costs.append(made.cost(metric, items, 0.1))
            assert metric.farthest == farthest_pair(metric.map(items))
        assert (np.diff(costs) <= 0).all()
        assert costs[-1] < costs[0]


def test_a_cluster_without_items_keeps_its_metric() -> None:
    metric = Metric(np.array([1.0, 2.0, 3.0]))
    assert improve(metric, Scatter(np.zeros(3), c=0.0, n=0.0), ITEMS, 0.1, separated=True) is metric


@pytest.mark.parametrize("A", [np.array([1.0, 2.0, 3.0]), np.array([[2.0, 1, 0], [1, 3, 0.5], [0, 0.5, 1]])])
def test_mapped_items_have_the_metrics_distances(A: np.ndarray) -> None:
    metric, matrix = Metric(A, (3, 7)), np.diag(A) if A.ndim == 1 else A
    v, mapped = ITEMS[3] - ITEMS[7], metric.map(ITEMS)
    assert ((mapped[3] - mapped[7]) ** 2).sum() == pytest.approx(v @ matrix @ v)
    assert metric.widest(ITEMS) == metric.squared(v) == pytest.approx(v @ matrix @ v)
    assert metric.volume(0.5) == pytest.approx(np.log(np.linalg.det(matrix)) - 0.5 * matrix.trace())


@pytest.mark.parametrize("full", [False, True])
def test_several_farthest_pairs_share_the_weight_of_the_broken_cannot_links(full: bool) -> None:
    S, far = scatter(ITEMS, np.ones(20), full=True), np.array([[1.0, 2.0, -1.0], [0.5, -3.0, 4.0], [2.0, 0.0, 1.0]])
    expected = S + 24.0 * (far[:, :, None] * far[:, None, :]).mean(axis=0) + 20.0 * 0.1 * np.eye(3)
    if full:
        found = mpck_metrics._minimiser(Scatter(S, c=24.0, n=20.0), far, 0.1)
        np.testing.assert_allclose(found, 20.0 * np.linalg.inv(expected))
    else:
        found = mpck_metrics._minimiser(Scatter(S.diagonal(), c=24.0, n=20.0), far, 0.1)
        np.testing.assert_allclose(found, 20.0 / expected.diagonal())
