"""ITML: the metric nearest to a prior under which must-linked items are near and cannot-linked ones far; then K-means.

    min over A and xi of  D_ld(A, A_0) + gamma D_ld(diag xi, diag xi_0)
    with  d_A(i, j) <= xi_ij for must-links, xi_0 = u,  and  d_A(i, j) >= xi_ij for cannot-links, xi_0 = l

d_A(i, j) = (x_i - x_j)' A (x_i - x_j) is a *squared* distance, and so u and l, the 5th and 95th percentile between the
items, are taken of squared distances; implementations are about that compare it with percentiles of plain ones. The
slack step of the published algorithm is right for gamma = 1 only; here the program itself is solved, for all pairs at
once (logdet.py), whatever gamma is. Davis, Kulis, Jain, Sra and Dhillon, Information-theoretic metric learning, ICML
2007.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, Floats, read_constraints
from likewise.clustering.k_means import LearnedMetric
from likewise.clustering.logdet import Bounds, learn_metric
from likewise.clustering.method import (
    ABOVE_0,
    COUNT,
    FROM_0,
    Rule,
    Rules,
    Seed,
    check_items,
    one_of,
    or_none,
    warn_unless,
)
from likewise.errors import InputError
from likewise.pairs import Pairs

MOST_ITEMS = 2000  # whose distances the percentiles are taken of
PERCENTILES = (5.0, 95.0)
Prior = Literal["identity", "covariance"]


def _are_bounds(value: Any) -> bool:
    return isinstance(value, tuple | list) and len(value) == 2 and all(map(ABOVE_0.holds, value))


class ITML(LearnedMetric, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Information-theoretic metric learning, and K-means under its metric.

    Parameters
    ----------
    n_clusters : K.
    gamma : how much the bounds count beside the prior; an answer of weight w counts w gamma.
    prior : A_0: "identity", or "covariance" for the inverse of the items' covariance.
    bounds : (u, l), squared distances under the prior, or None for the percentiles.
    max_steps, tol : of the solver; the gradient's entries at the end, relative to the start.
    n_init : starts of K-means.
    contradictions : "accept" (slack is paid for one of them), "refuse" or "repair".

    Attributes
    ----------
    labels_, components_ (d, d) with A = components_' components_, bounds_, cluster_centers_ (K, d, as transformed),
    n_iter_ (of the solver), n_features_in_

    >>> X = [[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0], [0.0, 4.0], [1.0, 5.0]]  # the first feature counts
    >>> pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2), (1, 3)], [1, 1, 0, 0])
    >>> ITML(n_clusters=2).fit(X, pairs=pairs).labels_
    array([1, 1, 0, 0, 1, 0], dtype=int32)
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "gamma": ABOVE_0,
        "prior": one_of(Prior),
        "bounds": or_none(Rule("two numbers above 0", _are_bounds)),
        "max_steps": COUNT,
        "tol": FROM_0,
        "n_init": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 1.0,
        prior: Prior = "identity",
        bounds: tuple[float, float] | None = None,
        max_steps: int = 1000,
        tol: float = 1e-4,
        n_init: int = 10,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.prior = prior
        self.bounds = bounds
        self.max_steps = max_steps
        self.tol = tol
        self.n_init = n_init
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        random = check_random_state(self.random_state)
        root = _prior_root(items, self.prior)
        mapped = items @ root
        self.bounds_ = _percentiles(mapped, random) if self.bounds is None else self.bounds
        near, far = self.bounds_
        loss = Bounds(
            sign=np.repeat([1.0, -1.0], [len(constraints.must_link), len(constraints.cannot_link)]),
            bound=np.repeat([near, far], [len(constraints.must_link), len(constraints.cannot_link)]),
            weight=np.concatenate([constraints.must_weight, constraints.cannot_weight]),
            gamma=self.gamma,
        )
        ends = np.concatenate([constraints.must_link, constraints.cannot_link])
        learned = learn_metric(mapped, ends, loss, max_iter=self.max_steps, tol=self.tol)
        warn_unless(learned.converged, self, "max_steps")
        self.components_, self.n_iter_ = (root @ learned.factor).T, learned.n_iter
        self._cluster(items, random)
        return self


def _prior_root(items: Floats, prior: Prior) -> Floats:
    """(d, d) R with A_0 = R R', symmetric."""
    d = items.shape[1]
    if prior == "identity":
        return np.eye(d)
    size, axes = np.linalg.eigh(np.atleast_2d(np.cov(items, rowvar=False)))
    least = size.max() * d * np.finfo(np.float64).eps
    if size.min() <= least:
        raise InputError("The items' covariance is singular and has no inverse; give prior='identity'.")
    return np.asarray((axes / np.sqrt(size)) @ axes.T)


def _percentiles(items: Floats, random: Any) -> tuple[float, float]:
    """(u, l) of the squared distances between items that are not at one place."""
    if len(items) > MOST_ITEMS:
        items = items[random.choice(len(items), MOST_ITEMS, replace=False)]
    size = (items**2).sum(axis=1)
    apart = (size[:, None] + size - 2 * items @ items.T)[np.triu_indices(len(items), 1)]
    apart = apart[apart > np.finfo(np.float64).eps * 10 * size.max(initial=0.0)]
    if not len(apart):
        return 1.0, 1.0
    near, far = np.percentile(apart, PERCENTILES)
    return float(near), float(far)
