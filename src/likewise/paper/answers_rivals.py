"""What else one could do with the same items: cluster them, with the answers or without, or label as many of them.

A clustering is matched with the classes on the training items; an unseen item goes to the nearest mean of a cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import pairwise_distances_argmin as nearest

from likewise.clustering import METHODS
from likewise.datasets import DataSet, Items
from likewise.evaluation import accuracy, confusion, match_outputs
from likewise.pairs import Pairs
from likewise.storage.records import read_json, write_json

STARTS = 10  # of k-means
MOST_ITEMS = 10_000  # that k-means looks at: ten starts over 60,000 images take minutes

Scores = dict[str, float]  # accuracy (of the test set) and train_accuracy, in %


@dataclass(frozen=True)
class Flat:
    """Both parts of a set as vectors; pixels are in [0, 1]."""

    train: NDArray[np.float32]  # (n, d)
    test: NDArray[np.float32]
    train_labels: NDArray[np.int64]
    test_labels: NDArray[np.int64]
    n_classes: int

    @classmethod
    def of(cls, data: DataSet) -> Flat:
        train, test = (_vectors(part) for part in (data.train, data.test))
        return cls(train, test, data.train.labels.numpy(), data.test.labels.numpy(), data.train.n_classes)


def run_rivals(
    names: Sequence[str], data: DataSet, pairs: Pairs, n_labels: int, seed: int, runs: Path
) -> dict[str, Scores]:
    """Each rival's scores; k-means, which needs no answers, is kept in `runs` for other trials with the same seed."""
    flat = Flat.of(data)
    scores: dict[str, Scores] = {}
    for name in names:
        match name:
            case "k-means":
                kept = runs / f"{data.name}-k-means-seed{seed}.json"
                if not kept.exists():
                    write_json(kept, k_means(flat, seed))
                scores[name] = read_json(kept)
            case "labels":
                scores[name] = from_labels(flat, n_labels, seed)
            case "all-labels":
                scores[name] = from_labels(flat, len(flat.train), seed)
            case _:
                model = METHODS[name](n_clusters=flat.n_classes, random_state=seed).fit(flat.train, pairs=pairs)
                scores[name] = clustered(flat, flat.train, model.labels_)
    return scores


def k_means(flat: Flat, seed: int) -> Scores:
    """The best of ten starts by its own objective, over a random part of a large set."""
    rows = np.random.default_rng(seed).permutation(len(flat.train))[:MOST_ITEMS]
    model = KMeans(flat.n_classes, n_init=STARTS, random_state=seed).fit(flat.train[rows])
    return clustered(flat, flat.train[rows], model.labels_)


def clustered(flat: Flat, items: NDArray[np.float32], labels: NDArray[np.integer]) -> Scores:
    """`items` are the training items that were clustered; the others go to the nearest mean as unseen ones do."""
    names, own = np.unique(labels, return_inverse=True)
    means = np.stack([items[labels == name].mean(0) for name in names])
    of_train = own if items is flat.train else nearest(flat.train, means)
    train, test = (
        confusion(clusters, truth, len(means), flat.n_classes)
        for clusters, truth in ((of_train, flat.train_labels), (nearest(flat.test, means), flat.test_labels))
    )
    matching = match_outputs(train)
    return _scores(accuracy(test, matching), accuracy(train, matching))


def from_labels(flat: Flat, n_labels: int, seed: int) -> Scores:
    """Logistic regression, as scikit-learn has it by default, on so many labelled items."""
    rows = labelled_rows(len(flat.train), n_labels, seed).numpy()
    model = LogisticRegression(max_iter=1000).fit(flat.train[rows], flat.train_labels[rows])
    return _scores(model.score(flat.test, flat.test_labels), model.score(flat.train, flat.train_labels))


def labelled_rows(n_items: int, n_labels: int, seed: int) -> torch.Tensor:
    """The random items that are labelled instead of asking about pairs."""
    return torch.randperm(n_items, generator=torch.Generator().manual_seed(seed))[:n_labels]


def _vectors(items: Items) -> NDArray[np.float32]:
    vectors = items.inputs.flatten(1).float()
    return np.asarray((vectors / 255 if items.inputs.dtype == torch.uint8 else vectors).numpy())


def _scores(test: float, train: float) -> Scores:
    return {"accuracy": round(100 * test, 4), "train_accuracy": round(100 * train, 4)}
