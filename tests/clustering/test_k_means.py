"""K-means, beside scikit-learn's own.

Kernel k-means, beside k-means on the features that a kernel stands for.
"""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from sklearn.datasets import make_blobs, make_circles
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import KMeans
from likewise.clustering.distances import all_distances, gaussian
from likewise.clustering.k_means import kernel_k_means

X, y = make_blobs(90, centers=4, random_state=3)


def test_it_is_scikit_learns() -> None:
    theirs = sklearn.cluster.KMeans(4, n_init=3, random_state=7).fit(X)
    ours = KMeans(4, n_init=3, random_state=7).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.cluster_centers_, theirs.cluster_centers_)
    assert ours.inertia_ == pytest.approx(theirs.inertia_)
    new = np.random.default_rng(0).normal(size=(50, 2)) * 8
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_pairs_change_nothing() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 2)], [1, 0])
    np.testing.assert_array_equal(KMeans(4).fit_predict(X, pairs=pairs), KMeans(4).fit_predict(X))


def test_more_clusters_than_items() -> None:
    with pytest.raises(InputError, match="n_clusters is 91, but X has 90 items; give 90 at most"):
        KMeans(91).fit(X)


ITEMS, CLASSES = make_blobs(80, centers=4, random_state=1)


def test_the_linear_kernel_is_k_means() -> None:
    labels, objective = kernel_k_means(ITEMS @ ITEMS.T, 4)
    theirs = sklearn.cluster.KMeans(4, n_init=10, random_state=0).fit(ITEMS)
    assert adjusted_rand_score(labels, theirs.labels_) == 1
    assert objective[-1] == pytest.approx(theirs.inertia_)


def test_a_step_of_lloyd_changes_nothing_at_the_end() -> None:
    labels, objective = kernel_k_means(ITEMS @ ITEMS.T, 9, n_init=1, random_state=5)
    centres = np.array([ITEMS[labels == k].mean(0) for k in range(9)])
    squared = ((ITEMS[:, None] - centres) ** 2).sum(2)
    np.testing.assert_array_equal(labels, squared.argmin(1))
    assert objective[-1] == pytest.approx(squared.min(1).sum())


@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_the_objective_never_rises(seed: int) -> None:
    objective = kernel_k_means(gaussian(all_distances(ITEMS), 5.0), 12, n_init=1, random_state=seed).objective
    assert len(objective) > 2
    assert (np.diff(objective) <= 1e-12).all()


def test_a_shift_of_the_items_is_not_seen() -> None:
    moved = ITEMS + 7
    np.testing.assert_array_equal(kernel_k_means(moved @ moved.T, 4).labels, kernel_k_means(ITEMS @ ITEMS.T, 4).labels)


def test_rings_that_no_line_parts() -> None:
    rings, ring = make_circles(120, factor=0.1, noise=0.02, random_state=0)
    assert adjusted_rand_score(ring, kernel_k_means(gaussian(all_distances(rings), 0.3), 2).labels) == 1


def test_no_cluster_is_left_empty() -> None:
    same = np.ones((6, 2))
    assert len(set(kernel_k_means(same @ same.T, 4).labels.tolist())) == 4


def test_the_same_seed_gives_the_same() -> None:
    kernel = gaussian(all_distances(ITEMS), 5.0)
    np.testing.assert_array_equal(kernel_k_means(kernel, 7, 2, 3).labels, kernel_k_means(kernel, 7, 2, 3).labels)
