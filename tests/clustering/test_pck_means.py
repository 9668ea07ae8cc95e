"""PCK-means: its objective from loops, its fixed point, and cases with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import KMeans, PCKMeans

X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
PAIRS = Pairs.from_labels(y, n=120)


def objective(model: PCKMeans, pairs: Pairs, labels: NDArray[np.int64]) -> float:
    """J with the model's centres, in a loop over items and a loop over answers."""
    unit = np.mean([((x - X.mean(0)) ** 2).sum() for x in X])
    total = sum(((x - model.cluster_centers_[label]) ** 2).sum() / unit / 2 for x, label in zip(X, labels, strict=True))
    for i, j, same, weight in zip(pairs.left, pairs.right, pairs.same, pairs.weight, strict=True):
        total += model.weight * weight * abs(2 * same - 1) * ((labels[i] == labels[j]) != (same > 0.5))
    return float(total)


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0, 30.0])
def test_the_objective_falls_to_what_the_equation_says(weight: float) -> None:
    model = PCKMeans(3, weight=weight).fit(X, pairs=PAIRS)
    assert model.objective_[-1] == pytest.approx(objective(model, PAIRS, model.labels_))
    assert (np.diff(model.objective_) <= 1e-9).all()
    assert model.n_iter_ == len(model.objective_)


def test_no_single_move_gains_and_centres_are_means() -> None:
    random = np.random.default_rng(0)
    noisy = Pairs.from_arrays(random.integers(0, 60, (200, 2)), random.random(200), weight=random.random(200))
    model = PCKMeans(3, weight=0.5).fit(X, pairs=noisy)
    least = objective(model, noisy, model.labels_)
    for item in range(60):
        for cluster in range(3):
            moved = model.labels_.copy()
            moved[item] = cluster
            assert objective(model, noisy, moved) >= least - 1e-9
    for cluster in range(3):
        np.testing.assert_allclose(model.cluster_centers_[cluster], X[model.labels_ == cluster].mean(0))


def test_without_weight_it_is_k_means() -> None:
    far, truth = make_blobs(60, centers=[(0, 0), (20, 0), (0, 20)], random_state=0)
    pairs = Pairs.from_labels(truth, n=60)
    ours, theirs = PCKMeans(3, weight=0.0).fit(far, pairs=pairs), KMeans(3).fit(far)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    new = np.random.default_rng(0).normal(size=(40, 2)) * 15
    assert adjusted_rand_score(ours.predict(new), theirs.predict(new)) == 1


def test_enough_weight_keeps_every_answer() -> None:
    crossed = np.random.default_rng(1).integers(0, 3, 60)  # nothing to do with the distances
    pairs = Pairs.from_labels(crossed)
    assert adjusted_rand_score(crossed, PCKMeans(3, weight=10.0).fit(X, pairs=pairs).labels_) == 1


def test_scale_and_order_do_not_matter() -> None:
    labels = PCKMeans(3).fit(X, pairs=PAIRS).labels_
    np.testing.assert_array_equal(PCKMeans(3).fit(1000 * X - 70, pairs=PAIRS).labels_, labels)
    order = np.random.default_rng(0).permutation(60)
    place = np.argsort(order)
    shuffled = Pairs.from_arrays(np.stack([place[PAIRS.left], place[PAIRS.right]], 1), PAIRS.same)
    assert adjusted_rand_score(PCKMeans(3).fit(X[order], pairs=shuffled).labels_, labels[order]) == 1


def test_contradictions() -> None:
    wrong = Pairs.from_arrays([(0, 1), (1, 2), (0, 2)], [1, 1, 0])
    assert PCKMeans(3).fit(X, pairs=wrong).labels_.shape == (60,)
    with pytest.raises(InputError, match="contradict"):
        PCKMeans(3, contradictions="refuse").fit(X, pairs=wrong)
    with pytest.warns(UserWarning, match="1 of 3"):
        PCKMeans(3, contradictions="repair").fit(X, pairs=wrong)
