"""K-means: what the features say without any answer.

    J = sum_i ||x_i - mu_{l_i}||^2        l_i = the nearest centre, mu_h = the mean of its items, in turns

MacQueen, Some methods for classification and analysis of multivariate observations, 1967; by Lloyd's updates from
k-means++ starts, as scikit-learn has them.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.cluster import KMeans as Lloyd
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Floats
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
