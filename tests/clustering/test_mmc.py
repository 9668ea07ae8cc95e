"""MMC: the ascent, a certificate that nothing is better, an independent solver, and what a linear map changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from likewise import InputError, Pairs
from likewise.clustering import MMC, KMeans, mmc

X, y = make_blobs(40, centers=3, n_features=4, cluster_std=3.0, random_state=0)
PAIRS = Pairs.from_labels(y, n=150)
SAME = X[PAIRS.left] - X[PAIRS.right]
SAME, OTHER = SAME[PAIRS.same > 0.5], SAME[PAIRS.same < 0.5]
M = SAME.T @ SAME


@pytest.fixture(autouse=True, params=["listed", "from items"])
def both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mmc, "FEW", 1000 if request.param == "listed" else 0)


def fitted(metric: Any) -> MMC:
    return MMC(3, metric=metric, regularisation=0.0, tol=1e-12, max_iter=20_000).fit(X, pairs=PAIRS)


def apart(A: np.ndarray) -> float:
    return float(sum(np.sqrt(v @ A @ v) for v in OTHER))


@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_it_rises_on_the_constraint(metric: Any) -> None:
    model = fitted(metric)
    A = model.components_.T @ model.components_
    assert (A * M).sum() == pytest.approx(1.0)
    assert model.objective_[-1] == pytest.approx(apart(A))
    assert (np.diff(model.objective_) >= 0).all()
    assert model.objective_[-1] > 1.05 * model.objective_[0]


def test_nothing_is_better_in_full() -> None:
    """g is concave: g(B) <= g(A) + <G, B - A>; and <G, B> is at most the largest eigenvalue of M^-1 G if <M, B> = 1."""
    A = fitted("full").components_
    A = A.T @ A
    G = sum(np.outer(v, v) / (2 * np.sqrt(v @ A @ v)) for v in OTHER)
    largest = float(np.linalg.eigvals(np.linalg.solve(M, G)).real.max())
    bound = apart(A) + largest - (G * A).sum()
    assert bound <= apart(A) * (1 + 1e-4)


def test_an_independent_solver_agrees_on_the_diagonal() -> None:
    """Xing et al.'s own form: sum of squares less the log of the sum of distances, which differs in scale alone."""

    def cost(a: np.ndarray) -> float:
        return float(a @ M.diagonal() - np.log(sum(np.sqrt(v**2 @ a) for v in OTHER)))

    found = minimize(cost, np.full(4, 1e-3), bounds=[(1e-12, None)] * 4, options={"ftol": 1e-15, "gtol": 1e-12}).x
    a = fitted("diagonal").components_.diagonal() ** 2
    np.testing.assert_allclose(a / (a @ M.diagonal()), found / (found @ M.diagonal()), atol=1e-3 * a.max())


def test_a_linear_map_changes_nothing() -> None:
    stretch = np.array([[3.0, 1, 0, 0], [0, 0.2, 0, 1], [1, 0, 1, 0], [0, 0, 0, 2]])
    settings: Any = {"regularisation": 0.0, "tol": 1e-10, "max_iter": 5000}
    models = [MMC(3, **settings).fit(x, pairs=PAIRS) for x in (X, X @ stretch)]
    plain, mapped = (euclidean_distances(m.transform(x)) for m, x in zip(models, (X, X @ stretch), strict=True))
    np.testing.assert_allclose(plain, mapped, atol=1e-3 * plain.max())


@pytest.mark.parametrize("metric", ["full", "diagonal"])
def test_it_learns_which_features_count(metric: Any) -> None:
    random = np.random.default_rng(2)
    truth = np.arange(60) % 2
    hidden = np.stack([truth + random.normal(size=60) / 8, 5 * random.normal(size=60)], axis=1)
    if metric == "full":
        hidden = hidden @ np.array([[1.0, 1.0], [-1.0, 1.0]])
    asked = Pairs.from_labels(np.where(np.arange(60) < 30, truth, -1), n=100)
    model = MMC(2, metric=metric).fit(hidden, pairs=asked)
    assert adjusted_rand_score(truth, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(hidden), model.labels_)


def test_without_pairs_it_is_k_means() -> None:
    np.testing.assert_array_equal(MMC(3).fit(X).labels_, KMeans(3).fit(X).labels_)


def test_refusals() -> None:
    with pytest.raises(InputError, match="none says different"):
        MMC(3).fit(X, pairs=PAIRS.select(PAIRS.same > 0.5))
    with pytest.raises(InputError, match="none says same"):
        MMC(3).fit(X, pairs=PAIRS.select(PAIRS.same < 0.5))
    few = Pairs.from_arrays([(0, 1), (0, 2)], [1, 0])
    with pytest.raises(InputError, match="never differ in some direction"):
        MMC(3, regularisation=0.0).fit(X, pairs=few)
    assert np.isfinite(MMC(3).fit(X, pairs=few).components_).all()
    with pytest.raises(InputError, match="at one place"):
        MMC(2).fit([[0.0], [0.0], [1.0]], pairs=Pairs.from_arrays([(0, 1), (1, 2)], [0, 1]))
