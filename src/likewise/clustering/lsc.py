"""LSC: spectral clustering by landmarks, for many items.

    z_ij = g(x_i, u_j) / sum_j' g(x_i, u_j')  over the r nearest landmarks of i,  g(x, u) = exp(-||x - u||^2 / (2 h^2))
    W = Z D^-1 Z',  D = diag of the column sums of Z;     its eigenvectors are the left singular vectors of Z D^-1/2

The p landmarks are centres of k-means, so every item is written by a few of them, and W, whose rows sum to 1, is a
graph that is never formed: the p x p matrix D^-1/2 Z' Z D^-1/2 has the same eigenvalues. The first eigenvector of W is
constant and says nothing. K-means on the K that come next, each item's row at length 1, gives the clusters.

Chen and Cai, Large scale spectral clustering with landmark-based representation, AAAI 2011; K vectors without the
constant one, and rows at length 1, as in the authors' own code. h is the mean distance of items to their r nearest
landmarks. The publication leaves it open; the code takes the mean squared distance to all landmarks, which makes the
graph depend on the unit that the items are measured in.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array, diags_array
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Floats
from likewise.clustering.k_means import fit_centres, nearest
from likewise.clustering.method import COUNT, Rules, Seed, check_items
from likewise.pairs import Pairs


class LSC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Landmark-based spectral clustering; it accepts pairs like every other method, and ignores them.

    Parameters
    ----------
    landmarks : p, or as many as there are items, where these are fewer.
    neighbours : r, the landmarks that an item is written by.

    Attributes
    ----------
    labels_, landmarks_ (p, d), embedding_ (n, K), cluster_centers_ (K, K) in the space of the embedding, bandwidth_ (h)

    >>> circle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    >>> rings = np.concatenate([np.c_[np.cos(circle), np.sin(circle)] * radius for radius in (1, 4)])
    >>> model = LSC(n_clusters=2, landmarks=40, neighbours=3).fit(rings)
    >>> np.unique(model.labels_[:60]), np.unique(model.labels_[60:])
    (array([0], dtype=int32), array([1], dtype=int32))
    """

    uses_pairs: ClassVar[bool] = False
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"landmarks": COUNT, "neighbours": COUNT, "n_init": COUNT}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        landmarks: int = 1000,
        neighbours: int = 5,
        n_init: int = 10,
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.landmarks = landmarks
        self.neighbours = neighbours
        self.n_init = n_init
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        random = check_random_state(self.random_state)
        self.landmarks_ = _landmarks(items, int(self.landmarks), random)
        written, self.bandwidth_ = write_by_landmarks(items, self.landmarks_, int(self.neighbours))
        spectrum = landmark_spectrum(written, self.n_clusters)
        self.projection_, self.embedding_ = spectrum.projection, unit_rows(written @ spectrum.projection)
        k_means = fit_centres(self.embedding_, self.n_clusters, self.n_init, random)
        self.labels_, self.cluster_centers_ = k_means.labels_, k_means.cluster_centers_
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """(n, K) The embedding of any items: what is known of them is how the landmarks write them."""
        check_is_fitted(self)
        items = validate_data(self, X, dtype=np.float64, reset=False)
        written, _ = write_by_landmarks(items, self.landmarks_, int(self.neighbours), self.bandwidth_)
        return unit_rows(written @ self.projection_)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cluster of any items, by the nearest centre in the embedding."""
        return nearest(self.transform(X), self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return int(self.projection_.shape[1])


class Spectrum(NamedTuple):
    values: Floats  # (k,) the greatest eigenvalues of W, except that of the constant vector
    projection: Floats  # (p, k) Z @ projection are its eigenvectors, of unit length


def write_by_landmarks(
    items: Floats, landmarks: Floats, neighbours: int, bandwidth: float | None = None
) -> tuple[csr_array, float]:
    """(n, p) Z with rows that sum to 1, and the bandwidth h."""
    r = min(neighbours, len(landmarks))
    distance, near = NearestNeighbors(n_neighbors=r).fit(landmarks).kneighbors(items)  # (n, r)
    mean = float(distance.mean())
    h = bandwidth if bandwidth is not None else mean if mean > 0 else 1.0
    exponent = -(distance**2) / (2 * h**2)
    weight = np.exp(exponent - exponent[:, :1])  # the nearest has 1, also where all are far
    weight /= weight.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(len(items)), r)
    return coo_array((weight.ravel(), (rows, near.ravel())), shape=(len(items), len(landmarks))).tocsr(), h


def landmark_spectrum(written: csr_array, n_vectors: int) -> Spectrum:
    """The eigenvectors of W = Z D^-1 Z' of the greatest eigenvalues, as many as are above 0, up to a number.

    The constant one, whose eigenvalue is 1, is taken out of the matrix first. Where the graph is in parts others have
    the eigenvalue 1, too, and a solver would hide it in all of them.
    """
    mass = np.asarray(written.sum(axis=0)).ravel()
    scale = np.divide(1.0, np.sqrt(mass), out=np.zeros_like(mass), where=mass > 0)  # a landmark may be near no item
    scaled = written @ diags_array(scale)
    constant = np.sqrt(mass / mass.sum())  # (p,) Z D^-1/2 makes the constant vector of it
    value, vector = eigh((scaled.T @ scaled).toarray() - np.outer(constant, constant))
    value, vector = value[::-1], vector[:, ::-1]
    kept = min(n_vectors, int((value > 1e-10).sum()))
    if not kept:  # all items are at one place
        value, vector, kept = np.ones(1), constant[:, None], 1
    return Spectrum(value[:kept], scale[:, None] * vector[:, :kept] / np.sqrt(value[:kept]))


def _landmarks(items: Floats, count: int, random: np.random.RandomState) -> Floats:
    distinct = np.unique(items, axis=0)
    if count >= len(distinct):
        return distinct
    return np.asarray(fit_centres(items, count, 1, random).cluster_centers_)


def unit_rows(embedding: Floats) -> Floats:
    length = np.sqrt((embedding**2).sum(axis=1, keepdims=True))
    return np.asarray(np.divide(embedding, length, out=np.zeros_like(embedding), where=length > 0))
