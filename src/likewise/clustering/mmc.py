"""MMC, the paper's DML: a metric that keeps cannot-linked items far apart, and must-linked ones not; then K-means.

    max over A >= 0 of  sum_{cannot} s_ij ||x_i - x_j||_A     with  sum_{must} s_ij ||x_i - x_j||_A^2 <= 1

The first sum has plain distances: with squared ones the best A would have rank 1. With M the sum over must-links of
s_ij (x_i - x_j)(x_i - x_j)', z = M^-1/2 x and A = M^-1/2 L L' M^-1/2, the constraint is ||L|| <= 1, and the first sum,
of ||L'(z_i - z_j)||, is convex in L. So

    L <- H L / ||H L||,      H = Z' Lap(s_ij / ||L'(z_i - z_j)||) Z

raises it in every step, because it is the best L for the tangent; the published ascent needs step sizes, projections
and a decomposition in each of these. A diagonal A is the same with a vector L. Xing, Ng, Jordan and Russell, Distance
metric learning with application to clustering with side-information, NIPS 2002.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, read_constraints
from likewise.clustering.distances import laplacian_times, squared_distances
from likewise.clustering.k_means import LearnedMetric
from likewise.clustering.method import COUNT, FROM_0, Rules, Seed, check_items, one_of, warn_unless
from likewise.errors import InputError
from likewise.pairs import Pairs

Shape = Literal["full", "diagonal"]
FEW = 2  # pairs an item: so many are listed

Step = Callable[[Floats], tuple[float, Floats]]  # L -> the first sum, and H L / ||H L||


class MMC(LearnedMetric, ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Mahalanobis metric for clustering, and K-means under it; without pairs, plain K-means.

    Parameters
    ----------
    n_clusters : K.
    metric : "full", a matrix, or "diagonal", a weight for each feature.
    regularisation : added to M, in units of its mean eigenvalue: without it, what never differs between must-linked
        items would count infinitely.
    max_iter, tol : the most rounds of two steps and a leap, and the relative gain below which they end.
    n_init : starts of K-means.
    contradictions : "accept", "refuse" or "repair".

    Attributes
    ----------
    labels_, components_ (d, d) with A = components_' components_, objective_ (the first sum after each round, A being
    of the scale of the constraint), n_iter_, cluster_centers_ (K, d, as transformed), n_features_in_

    >>> X = [[0.0, 0.0], [0.0, 9.0], [1.0, 0.0], [1.0, 9.0], [0.0, 4.0], [1.0, 5.0]]  # the first feature counts
    >>> pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2), (1, 3)], [1, 1, 0, 0])
    >>> MMC(n_clusters=2).fit(X, pairs=pairs).labels_
    array([1, 1, 0, 0, 1, 0], dtype=int32)
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "metric": one_of(Shape),
        "regularisation": FROM_0,
        "max_iter": COUNT,
        "tol": FROM_0,
        "n_init": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Shape = "full",
        regularisation: float = 1e-3,
        max_iter: int = 200,
        tol: float = 1e-6,
        n_init: int = 10,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.regularisation = regularisation
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        self.components_ = np.eye(items.shape[1])
        self.objective_: list[float] = []
        if pairs is not None:
            self._learn(items, constraints)
        self.n_iter_ = max(len(self.objective_), 1)
        random = check_random_state(self.random_state)
        self._cluster(items, random)
        return self

    def _learn(self, items: Floats, constraints: Constraints) -> None:
        for kind, links in (("same", constraints.must_link), ("different", constraints.cannot_link)):
            if not len(links):
                raise InputError(f"MMC learns from both kinds of answers, and none says {kind}; give some that do.")
        root = _inverse_root(items, constraints, self.regularisation, self.metric == "full")  # (d, d) or (d,)
        centred = items - items.mean(axis=0)
        z = _map(centred, root)
        step = _listed(z, constraints) if len(constraints.cannot_link) <= FEW * len(z) else _from_items(z, constraints)
        factor = _unit(np.eye(len(root)) if root.ndim == 2 else np.ones(len(root)))
        best, self.objective_, converged = _ascend(step, factor, self.max_iter, self.tol)
        warn_unless(converged, self, "max_iter")
        self.components_ = (root @ best).T if root.ndim == 2 else np.diag(root * best)


def _inverse_root(items: Floats, constraints: Constraints, regularisation: float, full: bool) -> Floats:
    """M^-1/2, (d, d) or, of its diagonal alone, (d,)."""
    i, j = constraints.must_link.T
    pull = laplacian_times(constraints.must_weight, i, j, items)
    spread = items.T @ pull if full else (items * pull).sum(axis=0)
    size, axes = np.linalg.eigh(spread) if full else (spread, None)
    size = np.maximum(size, 0.0)
    size = size + regularisation * size.mean()
    if size.min() <= size.max() * len(size) * np.finfo(np.float64).eps:
        raise InputError(
            "Must-linked items never differ in some direction, so it would count infinitely; give a "
            "regularisation above 0."
        )
    return np.asarray(1 / np.sqrt(size) if axes is None else (axes / np.sqrt(size)) @ axes.T)


def _listed(z: Floats, constraints: Constraints) -> Step:
    """A step by the differences of all pairs."""
    i, j = constraints.cannot_link.T
    difference, weight = z[i] - z[j], constraints.cannot_weight

    def step(factor: Floats) -> tuple[float, Floats]:
        mapped = _map(difference, factor)
        apart = np.sqrt(np.einsum("pd,pd->p", mapped, mapped))
        pull = np.divide(weight, apart, out=np.zeros_like(apart), where=apart > 0)
        return float(weight @ apart), _unit(_back(difference, pull[:, None] * mapped, factor))

    return step


def _from_items(z: Floats, constraints: Constraints) -> Step:
    """The same by products with all items, which many pairs share."""
    i, j = constraints.cannot_link.T
    weight = constraints.cannot_weight

    def step(factor: Floats) -> tuple[float, Floats]:
        mapped = _map(z, factor)
        apart = np.sqrt(squared_distances(mapped, mapped, i, j))
        pull = np.divide(weight, apart, out=np.zeros_like(apart), where=apart > 0)
        return float(weight @ apart), _unit(_back(z, laplacian_times(pull, i, j, mapped), factor))

    return step


def _map(rows: Floats, factor: Floats) -> Floats:
    return rows @ factor if factor.ndim == 2 else rows * factor


def _back(rows: Floats, pulled: Floats, factor: Floats) -> Floats:
    """H L: rows' times what they are pulled by, or its diagonal."""
    return np.asarray(rows.T @ pulled if factor.ndim == 2 else np.einsum("pd,pd->d", rows, pulled))


def _unit(factor: Floats) -> Floats:
    length = float(np.linalg.norm(factor))
    if not length > 0:
        raise InputError("All items with an answer 'different' are at one place; there is no metric to learn.")
    return factor / length


def _ascend(step: Step, factor: Floats, max_iter: int, tol: float) -> tuple[Floats, list[float], bool]:
    """Two steps, and a leap along their curve if it leads higher (SQUAREM; Varadhan and Roland 2008), over and over."""
    value, first = step(factor)
    history = [value]
    while len(history) < max_iter:
        value, second = step(first)
        change, bend = first - factor, second - 2 * first + factor
        reach = max(float(np.linalg.norm(change)) / max(float(np.linalg.norm(bend)), 1e-300), 1.0)
        leap = _unit(factor + 2 * reach * change + reach**2 * bend)
        leapt, after_leap = step(leap)
        if leapt >= value:
            factor, value, first = leap, leapt, after_leap
        else:
            factor = second
            value, first = step(second)
        history.append(value)
        if history[-1] <= history[-2] * (1 + tol):
            return factor, history, True
    return factor, history, False
