"""K-means, beside scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.cluster
from sklearn.datasets import make_blobs

from likewise import InputError, Pairs
from likewise.clustering import KMeans

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
