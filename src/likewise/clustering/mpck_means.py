"""MPCK-means: k-means that learns a metric for each cluster and pays for every constraint it breaks.

    J = sum_i ||x_i - mu_{l_i}||^2_{A_{l_i}} - log det A_{l_i} + r tr A_{l_i}
        + w sum_{must, l_i != l_j}  s_ij 1/2 (||x_i - x_j||^2_{A_{l_i}} + ||x_i - x_j||^2_{A_{l_j}})
        + w sum_{cannot, l_i = l_j = h} s_ij (||x'_h - x''_h||^2_{A_h} - ||x_i - x_j||^2_{A_h})

x'_h and x''_h are the items that A_h puts farthest apart. A must-link costs more the farther its items are, a
cannot-link the nearer they are. In turns: items move (pck_means.py), centres become means, metrics improve
(mpck_metrics.py); none of the three raises J. Bilenko, Basu and Mooney, Integrating constraints and metric learning in
semi-supervised clustering, ICML 2004, except r, which keeps metrics finite (they add a like term to a singular A^-1).
"""

from __future__ import annotations

from itertools import cycle
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, read_constraints
from likewise.clustering.method import ABOVE_0, COUNT, FROM_0, YES_OR_NO, Rules, Seed, check_items, one_of, warn_unless
from likewise.clustering.mpck_metrics import Metric, MetricPenalties
from likewise.clustering.pck_means import means, starts
from likewise.pairs import Pairs

Shape = Literal["diagonal", "full"]


class MPCKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means with penalties for broken constraints and metrics that fit clusters and constraints.

    Parameters
    ----------
    n_clusters : K.
    metric : "diagonal", a weight for each feature, or "full", a matrix.
    shared : one metric for all clusters; better where clusters have few items for many features.
    weight : w, what a broken constraint of weight 1 costs.
    regularisation : r, in units of the mean variance of a feature; smaller where features differ much in scale.
    n_init : starts, of which the one with the lowest J in the end is kept; the first is from neighbourhoods.
    max_iter : the most rounds.
    contradictions : "accept" (the penalties decide), "refuse" or "repair".

    Attributes
    ----------
    labels_, cluster_centers_ (K, d), metrics_ (K or 1, d) or (K or 1, d, d), objective_ (J after each round, in
    units of the mean variance), n_iter_, n_features_in_

    >>> X = [[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0], [0.0, 4.0], [1.0, 5.0]]  # the first feature counts
    >>> pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2), (1, 3)], [1, 1, 0, 0])
    >>> MPCKMeans(n_clusters=2).fit(X, pairs=pairs).labels_
    array([0, 0, 1, 1, 0, 1])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "metric": one_of(Shape),
        "shared": YES_OR_NO,
        "weight": FROM_0,
        "regularisation": ABOVE_0,
        "n_init": COUNT,
        "max_iter": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Shape = "diagonal",
        shared: bool = False,
        weight: float = 1.0,
        regularisation: float = 0.01,
        n_init: int = 1,
        max_iter: int = 50,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.shared = shared
        self.weight = weight
        self.regularisation = regularisation
        self.n_init = n_init
        self.max_iter = max_iter
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        raw = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        middle = raw.mean(axis=0)
        unit = float(np.sqrt(((raw - middle) ** 2).mean())) or 1.0
        items = (raw - middle) / unit
        penalties = MetricPenalties.of(items, constraints, self.weight, self.regularisation)
        random = check_random_state(self.random_state)
        self.objective_, converged = [np.inf], False
        for labels, centres in starts(items, penalties.group, self.n_clusters, self.n_init, random):
            metrics = penalties.first_metrics(1 if self.shared else self.n_clusters, self.metric == "full")
            history: list[float] = []
            before = np.full_like(labels, -1)
            while len(history) < self.max_iter and (labels != before).any():
                centres = means(items, labels, centres)
                metrics = penalties.improve(metrics, labels, centres)
                before, labels = labels, penalties.move(metrics, labels, centres)
                history.append(penalties.objective(metrics, labels, centres))
            if history[-1] < self.objective_[-1]:
                self.labels_, self.cluster_centers_, self.objective_ = labels, middle + unit * centres, history
                converged = bool((labels == before).all())
                self.metrics_ = np.stack([metric.A for metric in metrics]) / unit**2
                self._volumes = np.array([metric.volume(self.regularisation) for metric in metrics])
        self.n_iter_ = len(self.objective_)
        warn_unless(converged, self, "max_iter")
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cluster where a new item, of which no pair is known, costs least."""
        check_is_fitted(self)
        items = validate_data(self, X, dtype=np.float64, reset=False)
        cost = [
            (Metric(A).map(items - centre) ** 2).sum(axis=1) - volume
            for A, volume, centre in zip(
                cycle(self.metrics_), cycle(self._volumes), self.cluster_centers_, strict=False
            )
        ]
        return np.asarray(np.argmin(cost, axis=0))
