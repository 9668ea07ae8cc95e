"""Answers must never make it worse than no answers: many small problems, each beside k-means without any."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs, make_moons

from likewise import PairClassifier, Pairs
from likewise.evaluation import accuracy, confusion, match_outputs


def blobs(n_classes: int, n_features: int, spread: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs(30 * n_classes, n_features, centers=n_classes, cluster_std=spread, random_state=seed)
    return X, y


def wide_axis(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One column in other units than the rest, which k-means looks at alone."""
    X, y = blobs(4, 5, 1.0, seed)
    return X * [1, 1, 1, 1, 200], y


def uneven(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_blobs([200, 60, 30, 15], 6, cluster_std=1.5, random_state=seed)
    return X, y


def directions(n: int, n_classes: int, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Embeddings of length 1 in many dimensions."""
    random = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = random.normal(size=(n_classes, 128))[y] + noise * random.normal(size=(n, 128))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def some_digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    chosen = np.random.default_rng(seed).permutation(len(X))[:250]
    return X[chosen], y[chosen]


PROBLEMS = {
    "blobs": lambda seed: blobs(5, 4, 1.0, seed),
    "overlapping": lambda seed: blobs(4, 3, 4.0, seed),
    "many classes": lambda seed: blobs(15, 10, 2.0, seed),
    "wide axis": wide_axis,
    "uneven": uneven,
    "directions": lambda seed: directions(180, 12, 1.6, seed),  # about as noisy as photographs
    "vague directions": lambda seed: directions(450, 30, 2.8, seed),  # groups half right, and few answers to judge them
    "digits": some_digits,
    "moons": lambda seed: make_moons(200, noise=0.08, random_state=seed),
}


def percent_right(found: np.ndarray, truth: np.ndarray) -> float:
    n = int(max(found.max(), truth.max())) + 1
    counts = confusion(found, truth, n, n)
    return 100 * accuracy(counts, match_outputs(counts))


@pytest.mark.parametrize(("name", "wrong"), [*((name, 0.05) for name in PROBLEMS), ("uneven", 0.0), ("moons", 0.0)])
@pytest.mark.filterwarnings("ignore:The answers contradict one another")
def test_answers_do_not_make_it_worse_than_k_means(name: str, wrong: float) -> None:
    """By more than a few items, that is: also where one answer in twenty is wrong."""
    X, y = PROBLEMS[name](1)
    K = int(y.max()) + 1
    pairs = Pairs.from_labels(y, n=2 * len(y), random_state=1)
    flipped = np.random.default_rng(1).random(len(pairs)) < wrong
    ends = np.stack([pairs.left, pairs.right], axis=1)
    answers = Pairs.from_arrays(ends, np.where(flipped, 1 - pairs.same, pairs.same))
    alone = KMeans(K, n_init=10, random_state=1).fit_predict(X)
    told = PairClassifier(K, epochs=10, random_state=1).fit(X, pairs=answers).predict(X)
    assert percent_right(told, y) > percent_right(alone, y) - 3
