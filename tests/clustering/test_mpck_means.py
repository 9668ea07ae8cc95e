"""MPCK-means: its objective from loops, its fixed point, and cases with a known answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import MPCKMeans

X, y = make_blobs(40, centers=3, n_features=3, cluster_std=2.5, random_state=1)
RANDOM = np.random.default_rng(0)
NOISY = Pairs.from_arrays(RANDOM.integers(0, 40, (150, 2)), RANDOM.random(150), weight=RANDOM.random(150))
FORMS: Any = pytest.mark.parametrize(
    ("metric", "shared"), [("diagonal", False), ("diagonal", True), ("full", False), ("full", True)]
)


def objective(model: MPCKMeans, pairs: Pairs) -> Callable[[NDArray[np.int64]], float]:
    """J of labels, with the model's centres and metrics, in a loop over items and a loop over pairs."""
    variance = ((X - X.mean(0)) ** 2).mean()
    items, centres = X / np.sqrt(variance), model.cluster_centers_ / np.sqrt(variance)
    metrics = [np.diag(A) if A.ndim == 1 else A for A in model.metrics_ * variance]
    metrics = metrics * 3 if model.shared else metrics
    apart = [[[(a - b) @ A @ (a - b) for a in items] for b in items] for A in metrics]
    widest = [max(map(max, of_metric)) for of_metric in apart]
    own = [np.log(np.linalg.det(A)) - model.regularisation * A.trace() for A in metrics]
    to_centre = [[(x - mu) @ A @ (x - mu) for x in items] for A, mu in zip(metrics, centres, strict=True)]
    credit: dict[tuple[int, int], float] = {}
    for i, j, same, weight in zip(pairs.left, pairs.right, pairs.same, pairs.weight, strict=True):
        if i != j:
            pair = (min(i, j), max(i, j))
            credit[pair] = credit.get(pair, 0.0) + model.weight * float(weight) * (2 * float(same) - 1)

    def J(labels: NDArray[np.int64]) -> float:
        total = sum(to_centre[h][i] - own[h] for i, h in enumerate(labels))
        for (i, j), s in credit.items():
            g, h = labels[i], labels[j]
            if s > 0 and g != h:
                total += s * (apart[g][i][j] + apart[h][i][j]) / 2
            if s < 0 and g == h:
                total += -s * (widest[h] - apart[h][i][j])
        return float(total)

    return J


@FORMS
def test_the_objective_falls_to_what_the_equation_says(metric: Any, shared: bool) -> None:
    for weight in (0.1, 1.0):
        model = MPCKMeans(3, metric=metric, shared=shared, weight=weight).fit(X, pairs=NOISY)
        assert model.objective_[-1] == pytest.approx(objective(model, NOISY)(model.labels_), rel=1e-6)
        assert (np.diff(model.objective_) <= 1e-6 * np.abs(model.objective_[-1])).all()


@FORMS
def test_no_single_move_gains_and_centres_are_means(metric: Any, shared: bool) -> None:
    model = MPCKMeans(3, metric=metric, shared=shared, weight=0.3).fit(X, pairs=NOISY)
    J = objective(model, NOISY)
    least = J(model.labels_)
    for item in range(40):
        for cluster in range(3):
            moved = model.labels_.copy()
            moved[item] = cluster
            assert J(moved) >= least - 1e-6
    for cluster in range(3):
        if (model.labels_ == cluster).any():
            np.testing.assert_allclose(model.cluster_centers_[cluster], X[model.labels_ == cluster].mean(0), atol=1e-9)


@FORMS
def test_it_learns_which_features_count(metric: Any, shared: bool) -> None:
    random = np.random.default_rng(2)
    truth = np.arange(60) % 2
    hidden = np.stack([truth + random.normal(size=60) / 8, 5 * random.normal(size=60)], axis=1)
    if metric == "full":
        hidden = hidden @ np.array([[1.0, 1.0], [-1.0, 1.0]])  # neither feature alone
    model = MPCKMeans(2, metric=metric, shared=shared).fit(hidden, pairs=Pairs.from_labels(truth, n=300))
    assert adjusted_rand_score(truth, model.labels_) == 1
    assert adjusted_rand_score(truth, model.predict(hidden)) == 1  # from the metric alone
    assert model.metrics_.shape == ((1 if shared else 2), 2, *([2] if metric == "full" else []))


def test_clusters_of_their_own_shape() -> None:
    """Two crossing lines: only metrics of their own tell them apart where nobody was asked."""
    random = np.random.default_rng(0)
    truth = np.arange(80) % 2
    line = random.uniform(-4, 4, 80)
    crossed = np.where(truth[:, None] == 0, np.stack([line, 0 * line], 1), np.stack([0 * line, line], 1))
    crossed = crossed + random.normal(size=(80, 2)) / 8
    asked = Pairs.from_labels(np.where(np.arange(80) < 40, truth, -1), n=300)
    own, shared = (MPCKMeans(2, shared=shared).fit(crossed, pairs=asked).labels_[40:] for shared in (False, True))
    assert adjusted_rand_score(truth[40:], own) > 0.75
    assert adjusted_rand_score(truth[40:], shared) < 0.5


def test_scale_and_shift_do_not_matter() -> None:
    pairs = Pairs.from_labels(y, n=60)
    labels = MPCKMeans(3).fit(X, pairs=pairs).labels_
    np.testing.assert_array_equal(MPCKMeans(3).fit(1e-3 * X + 5, pairs=pairs).labels_, labels)


def test_a_feature_that_never_changes() -> None:
    constant = np.concatenate([X, np.full((40, 1), 7.0)], axis=1)
    for metric in ("diagonal", "full"):
        model = MPCKMeans(3, metric=metric).fit(constant, pairs=Pairs.from_labels(y, n=100))  # type: ignore[arg-type]
        assert np.isfinite(model.metrics_).all()
        assert np.isfinite(model.objective_).all()


def test_refusals() -> None:
    with pytest.raises(InputError, match="contradict"):
        MPCKMeans(3, contradictions="refuse").fit(X, pairs=Pairs.from_arrays([(0, 1), (1, 2), (0, 2)], [1, 1, 0]))
