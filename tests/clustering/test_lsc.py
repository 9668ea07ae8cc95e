"""LSC, against the whole graph that it never forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import subspace_angles
from sklearn.datasets import make_circles
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import LSC
from likewise.clustering.lsc import landmark_spectrum, write_by_landmarks

X, ring = make_circles(200, factor=0.3, noise=0.03, random_state=0)
LANDMARKS = X[::7]


def test_items_are_written_by_their_nearest_landmarks() -> None:
    written, h = write_by_landmarks(X, LANDMARKS, 4)
    distance = np.array([[np.sqrt(((x - u) ** 2).sum()) for u in LANDMARKS] for x in X])
    nearest = np.sort(distance, axis=1)[:, :4]
    assert h == pytest.approx(nearest.mean())
    expected = np.where(distance <= nearest[:, 3:], np.exp(-(distance**2) / (2 * h**2)), 0)
    np.testing.assert_allclose(written.toarray(), expected / expected.sum(1, keepdims=True))


def test_the_spectrum_is_that_of_the_whole_graph() -> None:
    written, _ = write_by_landmarks(X, LANDMARKS, 4)
    values, projection = landmark_spectrum(written, 5)
    Z = written.toarray()
    W = Z @ np.diag(1 / Z.sum(0)) @ Z.T
    np.testing.assert_allclose(W.sum(1), 1)
    value, vector = np.linalg.eigh(W)
    np.testing.assert_allclose(values, value[::-1][:5])
    ours = written @ projection
    np.testing.assert_allclose(ours.T @ ours, np.eye(5), atol=1e-9)
    assert subspace_angles(ours, vector[:, ::-1][:, :5]).max() < 1e-6


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
