"""What the metric learners have in common: K-means under a metric A = L' L, and the same for items they never saw."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.clustering.constraints import Floats
from likewise.clustering.k_means import fit_centres, nearest


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
