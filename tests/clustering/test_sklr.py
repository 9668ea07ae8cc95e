"""SKLR: the loss against three loops over the items, the kernel against a solver that knows nothing of its form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import approx_fprime, minimize
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import SKLR, Constraints, read_constraints
from likewise.clustering.distances import all_distances, factor, gaussian
from likewise.clustering.itml import learn_metric
from likewise.clustering.sklr import Comparisons

Array = NDArray[np.float64]


def some_answers(n: int, m: int, seed: int) -> Constraints:
    random = np.random.default_rng(seed)
    pairs = Pairs.from_arrays(random.integers(0, n, (m, 2)), random.integers(0, 2, m), random.uniform(0.5, 2, m))
    return read_constraints(pairs, n)


def by_loops(distance: Array, given: Constraints, rho: float, gamma: float) -> tuple[float, int]:
    """The loss and the number of comparisons, over all i, j and k."""
    n = given.n_items
    squared = np.zeros((n, n))
    for d, (i, j) in zip(distance, np.concatenate([given.must_link, given.cannot_link]), strict=True):
        squared[i, j] = squared[j, i] = d
    must, cannot = given.must.toarray(), given.cannot.toarray()
    total = weight = 0.0
    count = 0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if must[i, j] > 0 and cannot[i, k] > 0:
                    w = must[i, j] * cannot[i, k]
                    total += w * max(0.0, rho * squared[i, j] - squared[i, k]) ** 2
                    weight += w
                    count += 1
    return gamma * n / weight * total, count


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_of_all_comparisons(seed: int) -> None:
    given = some_answers(9, 30, seed)
    distance = np.random.default_rng(seed).uniform(0.1, 2, len(given))
    loss = Comparisons(given, rho=2.0, gamma=3.0)
    value, slope = loss(distance)
    expected, count = by_loops(distance, given, 2.0, 3.0)
    assert value == pytest.approx(expected)
    assert loss.n_comparisons == count > 10
    numeric = approx_fprime(distance, lambda d: by_loops(d, given, 2.0, 3.0)[0], 1e-7)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_equal_distances() -> None:
    given = some_answers(6, 15, 1)
    value, slope = Comparisons(given, 2.0, 1.0)(np.ones(len(given)))
    assert value == pytest.approx(by_loops(np.ones(len(given)), given, 2.0, 1.0)[0])
    numeric = approx_fprime(np.ones(len(given)), lambda d: by_loops(d, given, 2.0, 1.0)[0], 1e-7)
    np.testing.assert_allclose(slope, numeric, rtol=1e-4, atol=1e-4)


def test_the_kernel_is_the_least() -> None:
    items = np.random.default_rng(2).normal(size=(6, 2))
    given = some_answers(6, 14, 3)
    start = factor(gaussian(all_distances(items), 2.0), energy=1.0)
    r = start.shape[1]
    ends = np.concatenate([given.must_link, given.cannot_link])

    def objective(flat: Array) -> float:
        M = flat.reshape(r, r) @ flat.reshape(r, r).T
        differences = start[ends[:, 0]] - start[ends[:, 1]]
        distance = np.einsum("md,de,me->m", differences, M, differences)
        return float(np.trace(M) - np.linalg.slogdet(M)[1] + by_loops(distance, given, 2.0, 5.0)[0])

    best = minimize(objective, np.eye(r).ravel(), method="BFGS", options={"gtol": 1e-5})
    expected = start @ best.x.reshape(r, r) @ best.x.reshape(r, r).T @ start.T
    features = start @ learn_metric(start, ends, Comparisons(given, rho=2.0, gamma=5.0)).factor
    np.testing.assert_allclose(features @ features.T, expected, atol=2e-3)
    assert np.abs(expected - start @ start.T).max() > 0.05


def test_comparisons_that_can_be_met_are() -> None:
    y = np.array([0, 0, 0, 1, 1, 1])
    items = np.random.default_rng(5).normal(size=(6, 3))
    given = read_constraints(Pairs.from_labels(y), 6)
    start = factor(gaussian(all_distances(items), 4.0), energy=1.0)
    loss = Comparisons(given, rho=2.0, gamma=1e7)
    ends = np.concatenate([given.must_link, given.cannot_link])
    features = start @ learn_metric(start, ends, loss, max_iter=3000).factor
    squared = all_distances(features)
    met = [2 * squared[i, j] <= squared[i, k] * 1.02 for i, j in given.must_link for k in np.flatnonzero(y != y[i])]
    assert loss.n_comparisons == 36
    assert all(met)
    first = all_distances(start)
    assert not all(2 * first[i, j] <= first[i, k] for i, j in given.must_link for k in np.flatnonzero(y != y[i]))


def test_what_answers_say_is_found() -> None:
    random = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    X = np.c_[y * 1.5 + random.normal(0, 0.3, 60), random.normal(0, 4, 60)]
    assert adjusted_rand_score(y, SKLR(n_clusters=3).fit(X).labels_) < 0.5
    found = SKLR(n_clusters=3).fit(X, pairs=Pairs.from_labels(y, n=600))
    assert adjusted_rand_score(y, found.labels_) == 1


def test_answers_of_one_kind_compare_nothing() -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    alone, same = SKLR(n_clusters=3).fit(X), SKLR(n_clusters=3).fit(X, pairs=Pairs.from_links([(0, 1)], []))
    assert same.n_comparisons_ == 0
    np.testing.assert_array_equal(alone.labels_, same.labels_)
