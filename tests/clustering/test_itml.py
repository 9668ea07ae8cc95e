"""LogDet metric learning, against Bregman's projections onto one pair at a time, which have the same limit.

ITML: the right bounds, the right metric, and what a linear map of the items changes.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from likewise import InputError, Pairs
from likewise.clustering import ITML, KMeans
from likewise.clustering.itml import Bounds, learn_metric

Array = NDArray[np.float64]


def bregman(items: Array, ends: NDArray[np.int64], bounds: Bounds) -> Array:
    """Davis et al., algorithm 1, with the slack step that is right for every gamma."""
    A, multiplier, xi = np.eye(items.shape[1]), np.zeros(len(ends)), bounds.bound.copy()
    for _ in range(5000):
        largest = 0.0
        for p, (i, j) in enumerate(ends):
            v, gamma, sign = items[i] - items[j], bounds.gamma * bounds.weight[p], bounds.sign[p]
            distance = v @ A @ v
            step = min(multiplier[p], sign * gamma / (gamma + 1) * (1 / distance - 1 / xi[p]))
            multiplier[p] -= step
            xi[p] = 1 / (1 / xi[p] + sign * step / gamma)
            A += sign * step / (1 - sign * step * distance) * np.outer(A @ v, A @ v)
            largest = max(largest, abs(step) * distance)
        if largest < 1e-9:
            return A
    raise AssertionError("the projections did not converge")


def a_problem(n: int, d: int, n_pairs: int, gamma: float, seed: int) -> tuple[Array, NDArray[np.int64], Bounds]:
    random = np.random.default_rng(seed)
    items, ends = random.normal(size=(n, d)) + 5, random.integers(0, n, (n_pairs, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    sign = np.where(random.random(len(ends)) < 0.5, 1.0, -1.0)
    bound = np.where(sign > 0, 0.5 * d, 3.0 * d)
    return items, ends, Bounds(sign, bound, random.uniform(0.5, 2, len(ends)), gamma)


@pytest.mark.parametrize(
    ("n", "d", "n_pairs", "gamma"),
    [(20, 3, 40, 1.0), (20, 3, 40, 0.1), (15, 4, 30, 4.0), (5, 8, 12, 1.0)],  # the last: more features than items
)
def test_the_limit_of_the_projections(n: int, d: int, n_pairs: int, gamma: float) -> None:
    items, ends, bounds = a_problem(n, d, n_pairs, gamma, seed=n + d)
    L = learn_metric(items, ends, bounds, tol=1e-8).factor
    expected = bregman(items, ends, bounds)
    np.testing.assert_allclose(L @ L.T, expected, atol=2e-5 * np.abs(expected).max())


def test_bounds_that_hold_already_change_nothing() -> None:
    items, ends, bounds = a_problem(10, 3, 20, 1.0, seed=0)
    distance = ((items[ends[:, 0]] - items[ends[:, 1]]) ** 2).sum(1)
    kept = Bounds(bounds.sign, distance * np.exp(bounds.sign), bounds.weight, 1.0)
    np.testing.assert_allclose(learn_metric(items, ends, kept).factor, np.eye(3), atol=1e-6)


def test_rotation() -> None:
    items, ends, bounds = a_problem(12, 3, 25, 1.0, seed=1)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    L, turned = (learn_metric(x, ends, bounds, tol=1e-8).factor for x in (items, items @ turn))
    np.testing.assert_allclose(turn @ turned @ turned.T @ turn.T, L @ L.T, atol=1e-5)


def test_the_slope_of_bounds_is_their_derivative() -> None:
    _, _, bounds = a_problem(12, 3, 25, 2.0, seed=2)
    distance = np.random.default_rng(0).uniform(0.5, 12, len(bounds.sign))
    value, slope = bounds(distance)
    assert value > 0
    for p in range(len(distance)):
        nudge = np.where(np.arange(len(distance)) == p, 1e-5, 0.0)
        numeric = (bounds(distance + nudge)[0] - bounds(distance - nudge)[0]) / 2e-5
        assert slope[p] == pytest.approx(numeric, abs=1e-7)


def test_no_pairs_no_change() -> None:
    none = Bounds(np.empty(0), np.empty(0), np.empty(0), 1.0)
    found = learn_metric(np.ones((4, 2)), np.empty((0, 2), dtype=np.int64), none)
    np.testing.assert_array_equal(found.factor, np.eye(2))
    assert found[1:] == (0, True)


def test_the_search_is_short_and_says_where_its_limit_ended_it() -> None:
    items, ends, bounds = a_problem(40, 6, 700, 100.0, seed=3)
    found = learn_metric(items * [1, 1, 1, 0.1, 0.01, 0.001], ends, bounds)
    assert found.converged
    assert found.n_iter < 40  # some 400 without preconditioning
    limited = learn_metric(items, ends, bounds, max_iter=3)
    assert limited[1:] == (3, False)
    early = learn_metric(items, ends, bounds, early_stopping=3)
    assert early[1:] == (3, True)
    assert np.abs(early.factor - limited.factor).max() > 0.01  # another path: plain steps


X, y = make_blobs(40, centers=3, n_features=3, random_state=0)
PAIRS = Pairs.from_labels(y, n=60)


def slack_objective(A: np.ndarray, model: ITML) -> float:
    """The published program at A, with the best slack, in a loop over pairs; A_0 = I."""
    near, far = model.bounds_
    total = A.trace() - np.log(np.linalg.det(A)) - len(A)
    for i, j, same in zip(PAIRS.left, PAIRS.right, PAIRS.same, strict=True):
        distance = (X[i] - X[j]) @ A @ (X[i] - X[j])
        ratio = max(distance / near, 1.0) if same > 0.5 else min(distance / far, 1.0)
        total += model.gamma * (ratio - np.log(ratio) - 1)
    return float(total)


def test_bounds_are_percentiles_of_squared_distances() -> None:
    apart = euclidean_distances(X)[np.triu_indices(40, 1)]
    expected = np.percentile(apart, [5, 95]) ** 2  # of plain ones, squared: percentiles commute with squares
    assert ITML(3).fit(X, pairs=PAIRS).bounds_ == pytest.approx(tuple(expected), rel=0.02)
    assert ITML(3, bounds=(2.0, 9.0)).fit(X, pairs=PAIRS).bounds_ == (2.0, 9.0)


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
def test_no_other_metric_is_better(gamma: float) -> None:
    model = ITML(3, gamma=gamma, tol=1e-7).fit(X, pairs=PAIRS)
    A = model.components_.T @ model.components_
    least, random = slack_objective(A, model), np.random.default_rng(0)
    for _ in range(30):
        nudge = random.normal(size=(3, 3)) * 1e-3
        for other in (A + (nudge + nudge.T) / 2, A * (1 + nudge[0, 0])):
            assert slack_objective(other, model) >= least - 1e-9
    assert slack_objective(np.eye(3), model) > least + 0.01


def test_it_learns_which_features_count() -> None:
    random = np.random.default_rng(2)
    truth = np.arange(60) % 2
    hidden = np.stack([truth + random.normal(size=60) / 8, 5 * random.normal(size=60)], axis=1)
    hidden = hidden @ np.array([[1.0, 1.0], [-1.0, 1.0]])
    asked = Pairs.from_labels(np.where(np.arange(60) < 30, truth, -1), n=100)
    model = ITML(2).fit(hidden, pairs=asked)
    assert adjusted_rand_score(truth, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(hidden), model.labels_)
    assert adjusted_rand_score(truth, KMeans(2).fit(hidden).labels_) < 0.2


def test_without_pairs_it_is_k_means() -> None:
    model = ITML(3).fit(X)
    np.testing.assert_array_equal(model.components_, np.eye(3))
    np.testing.assert_array_equal(model.labels_, KMeans(3).fit(X).labels_)


def test_with_the_covariance_as_prior_a_linear_map_changes_nothing() -> None:
    stretch = np.array([[3.0, 1, 0], [0, 0.2, 0], [1, 0, 1]])
    models = [ITML(3, prior="covariance", tol=1e-8).fit(x, pairs=PAIRS) for x in (X, X @ stretch)]
    plain, mapped = (euclidean_distances(m.transform(x)) for m, x in zip(models, (X, X @ stretch), strict=True))
    np.testing.assert_allclose(plain, mapped, rtol=1e-3, atol=1e-6)
    assert adjusted_rand_score(*(model.labels_ for model in models)) == 1


def test_contradicting_and_repeated_items() -> None:
    doubled = np.concatenate([X, X])
    wrong = Pairs.from_arrays([(0, 1), (1, 2), (0, 2), (0, 40)], [1, 1, 0, 0])  # 0 and 40 are one place, yet different
    model = ITML(3).fit(doubled, pairs=wrong)
    assert np.isfinite(model.components_).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match="covariance is singular"):
        ITML(3, prior="covariance").fit(np.concatenate([X, X[:, :1]], axis=1))
