"""LSC, against the whole graph that it never forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import LSC
from likewise.clustering.lsc import landmark_spectrum, write_by_landmarks

Array = NDArray[np.float64]

X, ring = make_circles(200, factor=0.3, noise=0.03, random_state=0)
LANDMARKS = X[::7]


def test_items_are_written_by_their_nearest_landmarks() -> None:
    written, h = write_by_landmarks(X, LANDMARKS, 4)
    distance = np.array([[np.sqrt(((x - u) ** 2).sum()) for u in LANDMARKS] for x in X])
    nearest = np.sort(distance, axis=1)[:, :4]
    assert h == pytest.approx(nearest.mean())
    expected = np.where(distance <= nearest[:, 3:], np.exp(-(distance**2) / (2 * h**2)), 0)
    np.testing.assert_allclose(written.toarray(), expected / expected.sum(1, keepdims=True))


def eigenvectors(written: csr_array, n_vectors: int) -> tuple[Array, Array]:
    """Of the whole graph; the first, which is constant, is left out."""
    Z = written.toarray()
    W = Z @ np.diag(1 / Z.sum(0)) @ Z.T
    np.testing.assert_allclose(W.sum(1), 1)
    value, vector = np.linalg.eigh(W)
    return value[::-1][1 : n_vectors + 1], vector[:, ::-1][:, 1 : n_vectors + 1]


def test_the_spectrum_is_that_of_the_whole_graph() -> None:
    written, _ = write_by_landmarks(X, LANDMARKS, 4)
    values, projection = landmark_spectrum(written, 5)
    value, vector = eigenvectors(written, 5)
    assert value[0] < 0.9999  # the graph is in one part
    np.testing.assert_allclose(values, value)
    ours = written @ projection
    np.testing.assert_allclose(ours.T @ ours, np.eye(5), atol=1e-9)
    assert subspace_angles(ours, vector).max() < 1e-6


def test_the_constant_vector_is_left_out_also_where_the_graph_is_in_parts() -> None:
    apart = np.concatenate([X, X + 100, X - 100])
    written, _ = write_by_landmarks(apart, apart[::7], 4)
    values, projection = landmark_spectrum(written, 4)
    ours = written @ projection
    np.testing.assert_allclose(ours.sum(0), 0, atol=1e-6)
    np.testing.assert_allclose(values[:2], 1)
    assert values[2] < 0.9999


def test_rows_of_the_embedding_have_length_1_and_k_means_gets_as_many_vectors_as_clusters() -> None:
    cloud = np.random.default_rng(0).normal(size=(200, 2))  # a graph in one part
    found = LSC(n_clusters=4, landmarks=30).fit(cloud)
    written, _ = write_by_landmarks(cloud, found.landmarks_, 5)
    vector = eigenvectors(written, 4)[1]
    unit = vector / np.sqrt((vector**2).sum(1, keepdims=True))
    assert found.embedding_.shape == (200, 4)
    np.testing.assert_allclose(found.embedding_ @ found.embedding_.T, unit @ unit.T, atol=1e-6)


def test_items_at_one_place() -> None:
    found = LSC(n_clusters=1).fit(np.ones((5, 2)))
    assert found.labels_.tolist() == [0] * 5
    assert found.predict([[1.0, 1.0]]).tolist() == [0]


def test_rings() -> None:
    assert adjusted_rand_score(ring, LSC(n_clusters=2, landmarks=60).fit(X).labels_) == 1


def test_the_items_themselves_are_new_items_too() -> None:
    found = LSC(n_clusters=3, landmarks=60).fit(X)
    np.testing.assert_allclose(found.transform(X), found.embedding_, atol=1e-12)
    np.testing.assert_array_equal(found.predict(X), found.labels_)


def test_new_items_go_to_their_ring() -> None:
    found = LSC(n_clusters=2, landmarks=60).fit(X)
    new, new_ring = make_circles(50, factor=0.3, noise=0.03, random_state=9)
    assert adjusted_rand_score(new_ring, found.predict(new)) == 1


def test_scale_and_place_are_not_seen() -> None:
    ours, theirs = LSC(n_clusters=4, landmarks=60).fit(X), LSC(n_clusters=4, landmarks=60).fit(100 * X + 8)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1


def test_pairs_change_nothing() -> None:
    pairs = Pairs.from_links([(0, 1)], [(1, 2)])
    np.testing.assert_array_equal(LSC(4).fit_predict(X, pairs=pairs), LSC(4).fit_predict(X))
