"""PCK-means: k-means that pays for every constraint it breaks.

    J = 1/2 sum_i ||x_i - mu_{l_i}||^2 + w sum_{must} s_ij [l_i != l_j] + w sum_{cannot} s_ij [l_i = l_j]

In turns: each item moves to the cluster where it pays least while the others stay, and centres become means. J never
rises. Squared distances are in units of the mean ||x_i - mean||^2, so that w means the same whatever the scale. Basu,
Banerjee and Mooney, Active semi-supervision for pairwise constrained clustering, SDM 2004.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, Ints, read_constraints
from likewise.clustering.k_means import nearest
from likewise.clustering.method import COUNT, FROM_0, Rules, Seed, check_items, warn_unless
from likewise.clustering.penalised import Neighbourhoods, linked_inside, means, neighbourhoods, reassign, starts
from likewise.pairs import Pairs


class PCKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means with penalties for broken constraints.

    Parameters
    ----------
    n_clusters : K.
    weight : w, what a broken constraint of weight 1 costs.
    n_init : starts, of which the one with the lowest J in the end is kept; the first is from neighbourhoods.
    max_iter : the most rounds of moving and averaging.
    contradictions : "accept" (the penalties decide), "refuse" or "repair".

    Attributes
    ----------
    labels_, cluster_centers_ (K, d), objective_ (J after each round), n_iter_, n_features_in_

    >>> pairs = Pairs.from_arrays([(0, 2), (1, 3)], [1, 1])  # against the distances
    >>> PCKMeans(n_clusters=2, weight=10.0).fit([[0.0], [1.0], [8.0], [9.0]], pairs=pairs).labels_
    array([0, 1, 0, 1])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"weight": FROM_0, "n_init": COUNT, "max_iter": COUNT}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 1.0,
        n_init: int = 5,
        max_iter: int = 100,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        raw = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        middle = raw.mean(axis=0)
        unit = float(np.sqrt(((raw - middle) ** 2).sum(axis=1).mean())) or 1.0
        items = (raw - middle) / unit
        links = csr_array(self.weight * constraints.signed)
        group = neighbourhoods(constraints)
        ends, credit = linked_inside(constraints, group)
        together = Neighbourhoods(group, ends, np.tile(self.weight * credit[:, None], self.n_clusters))
        random = check_random_state(self.random_state)
        self.objective_, settled = [np.inf], False
        for labels, centres in starts(items, group, self.n_clusters, self.n_init, random):
            history: list[float] = []
            before = np.full_like(labels, -1)
            while len(history) < self.max_iter and (labels != before).any():
                centres = means(items, labels, centres)
                cost = _half_distances(items, centres) - links @ np.eye(self.n_clusters)[labels]  # (n, K)
                before = labels
                labels = reassign(cost, labels, links, lambda h, j, entries: links.data[entries], together)
                history.append(objective(items, constraints, labels, centres, self.weight))
            if history[-1] < self.objective_[-1]:
                self.labels_, self.cluster_centers_, self.objective_ = labels, middle + unit * centres, history
                settled = bool((labels == before).all())
        self.n_iter_ = len(self.objective_)
        warn_unless(settled, self, "max_iter")
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest centre of each row."""
        check_is_fitted(self)
        return nearest(validate_data(self, X, dtype=np.float64, reset=False), self.cluster_centers_)


def objective(items: Floats, constraints: Constraints, labels: Ints, centres: Floats, weight: float) -> float:
    """J, as it stands above."""
    must_apart = labels[constraints.must_link[:, 0]] != labels[constraints.must_link[:, 1]]
    cannot_together = labels[constraints.cannot_link[:, 0]] == labels[constraints.cannot_link[:, 1]]
    broken = constraints.must_weight[must_apart].sum() + constraints.cannot_weight[cannot_together].sum()
    return float(((items - centres[labels]) ** 2).sum() / 2 + weight * broken)


def _half_distances(items: Floats, centres: Floats) -> Floats:
    """(n, K) 1/2 ||x_i - mu_h||^2 without the part that is the same for all h."""
    return np.asarray((centres**2).sum(axis=1) / 2 - items @ centres.T)
