"""ITML: the right bounds, the right metric, and what a linear map of the items changes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

from likewise import InputError, Pairs
from likewise.clustering import ITML, KMeans

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
