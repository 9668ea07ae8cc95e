"""K-means, what the features say without any answer; and kernel k-means, where only products of items are known.

    J = sum_i ||x_i - mu_{l_i}||^2        l_i = the nearest centre, mu_h = the mean of its items, in turns

MacQueen, Some methods for classification and analysis of multivariate observations, 1967; by Lloyd's updates from
k-means++ starts, as scikit-learn has them. With a kernel K,

    J = sum_i ||phi_i - mu_{l_i}||^2,     ||phi_i - mu_h||^2 = K_ii - 2 mean_{j in h} K_ij + mean_{j, k in h} K_jk

Schoelkopf, Smola and Mueller, Nonlinear component analysis as a kernel eigenvalue problem, 1998. Starts are drawn as
k-means++ draws them: each centre an item, chosen in proportion to its squared distance from those before.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans as Lloyd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.method import COUNT, Rules, Seed, check_items
from likewise.pairs import Pairs


class KMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means; it accepts pairs like every other method, and ignores them.

    Attributes
    ----------
    labels_, cluster_centers_ (K, d), inertia_ (J), n_features_in_

    >>> KMeans(n_clusters=2).fit([[0.0], [1.0], [8.0], [9.0]]).cluster_centers_.ravel().round(1)
    array([8.5, 0.5])
    """

    uses_pairs: ClassVar[bool] = False
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"n_init": COUNT}

    def __init__(self, n_clusters: int = 8, *, n_init: int = 10, random_state: Seed = 0) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        best = fit_centres(items, self.n_clusters, self.n_init, self.random_state)
        self.labels_, self.cluster_centers_, self.inertia_ = best.labels_, best.cluster_centers_, best.inertia_
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest centre of each row."""
        check_is_fitted(self)
        return nearest(validate_data(self, X, dtype=np.float64, reset=False), self.cluster_centers_)


def fit_centres(items: Floats, n_clusters: int, n_init: int = 10, random_state: Seed = 0) -> Any:
    """scikit-learn's K-means, fitted: what a metric learner ends with."""
    return Lloyd(n_clusters, n_init=n_init, random_state=check_random_state(random_state)).fit(items)


def nearest(items: Floats, centres: Floats) -> NDArray[np.int64]:
    """(n,) The centre with the smallest ||x_i - mu_h||^2; ||x_i||^2 is the same for all h."""
    return np.asarray(np.argmin((centres**2).sum(1) - 2 * items @ centres.T, axis=1))


# What the metric learners have in common: K-means under a metric A = L' L, and the same for items they never saw.
class LearnedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin):  # type: ignore[misc]
    """A scikit-learn mixin for methods that learn components_, the (d, d) L."""

    n_clusters: int
    n_init: int
    components_: Floats
    cluster_centers_: Floats  # (K, d), as transformed

    def _cluster(self, items: Floats, random: np.random.RandomState) -> None:
        centres = fit_centres(items @ self.components_.T, self.n_clusters, self.n_init, random)
        self.labels_, self.cluster_centers_ = centres.labels_, centres.cluster_centers_

    def transform(self, X: ArrayLike) -> Floats:
        """Items whose Euclidean distances are those of the learned metric."""
        check_is_fitted(self)
        return np.asarray(validate_data(self, X, dtype=np.float64, reset=False) @ self.components_.T)

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest centre of each row, under the learned metric."""
        return nearest(self.transform(X), self.cluster_centers_)

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class Partition(NamedTuple):
    labels: Ints  # (n,)
    objective: list[float]  # J at each step; never rises


def kernel_k_means(
    kernel: Floats, n_clusters: int, n_init: int = 10, random_state: Seed = 0, max_iter: int = 300
) -> Partition:
    """The best of some starts.

    >>> items = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> labels, objective = kernel_k_means(items @ items.T, n_clusters=2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), round(objective[-1], 6)
    (True, 1.0)
    """
    random = check_random_state(random_state)
    partitions = [_descend(kernel, _start(kernel, n_clusters, random), n_clusters, max_iter) for _ in range(n_init)]
    return min(partitions, key=lambda partition: partition.objective[-1])


def _start(kernel: Floats, n_clusters: int, random: np.random.RandomState) -> Ints:
    """The nearest of K items, each drawn in proportion to its squared distance from those drawn before."""
    size = np.diag(kernel)
    n = len(kernel)
    nearest, labels = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    chosen = int(random.randint(n))
    for cluster in range(n_clusters):
        distance = np.maximum(size + size[chosen] - 2 * kernel[chosen], 0.0)
        labels = np.where(distance < nearest, cluster, labels)
        nearest = np.minimum(distance, nearest)
        labels[chosen], nearest[chosen] = cluster, 0.0  # its own, also where another item is at its place
        total = float(nearest.sum())
        chosen = int(random.choice(n, p=nearest / total)) if total > 0 else int(random.randint(n))
    return labels


def _descend(kernel: Floats, labels: Ints, n_clusters: int, max_iter: int) -> Partition:
    """Lloyd's updates until nothing moves."""
    size = np.diag(kernel)
    rows = np.arange(len(kernel))
    objective: list[float] = []
    for _ in range(max_iter):
        member = labels[:, None] == np.arange(n_clusters)  # (n, K)
        count = np.maximum(member.sum(axis=0), 1)
        mean = kernel @ (member / count)  # (n, K) mean_{j in h} K_ij
        spread = (member * mean).sum(axis=0) / count  # (K,) mean_{j, k in h} K_jk
        distance = size[:, None] - 2 * mean + np.where(member.any(axis=0), spread, np.inf)
        objective.append(float(distance[rows, labels].sum()))
        moved = distance.argmin(axis=1)
        labels = _fill_empty(moved, distance, n_clusters)
        if (labels == member.argmax(axis=1)).all():
            break
    return Partition(labels, objective)


def _fill_empty(labels: Ints, distance: Floats, n_clusters: int) -> Ints:
    """A cluster that lost all its items is given the one that lies farthest from its centre, from a cluster of more."""
    labels = labels.copy()
    own = distance[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        spare = np.bincount(labels, minlength=n_clusters)[labels] > 1
        farthest = int(np.where(spare, own, -np.inf).argmax())
        labels[farthest], own[farthest] = empty, 0.0
    return labels
