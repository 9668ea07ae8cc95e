"""ITML: the metric nearest to a prior under which must-linked items are near and cannot-linked ones far; then K-means.

    min over A and xi of  D_ld(A, A_0) + gamma D_ld(diag xi, diag xi_0)
    with  d_A(i, j) <= xi_ij for must-links, xi_0 = u,  and  d_A(i, j) >= xi_ij for cannot-links, xi_0 = l

d_A(i, j) = (x_i - x_j)' A (x_i - x_j) is a *squared* distance, and so u and l, the 5th and 95th percentile between the
items, are taken of squared distances; implementations are about that compare it with percentiles of plain ones. The
slack step of the published algorithm is right for gamma = 1 only; here the program itself is solved, whatever gamma is.
Davis, Kulis, Jain, Sra and Dhillon, Information-theoretic metric learning, ICML 2007.

The solver (`learn_metric`, which SKMS and SKLR use for their kernels too) minimises LogDet's divergence and a penalty,

    F(A) = tr(A) - log det(A) + sum_p phi_p(d_p),     A positive definite

where phi_p, convex, is what pair p pays for its squared distance. The usual solver, Bregman's, projects onto one pair
at a time. F is smooth and has one minimum, so all pairs can be taken at once: with A = L L', phi' as the weights of a
graph and its Laplacian Lap,

    dF/dL = 2 (L - L^-T + X' Lap(phi') X L)

is a few matrix products, and L-BFGS needs some tens or hundreds of them. It searches for M with L = P M, where

    P = (I + X' Lap(|phi'|) X)^-1/2,  phi' as it is at the start

makes directions alike in which answers pull hard and in which they hardly pull. With an answer about every pair of 250
digits, SKKm's kernel needs 28 steps in place of 176. Without P, the directions in which items spread most are learned
first, so that a search that ends early leaves the others as the prior has them: that is early stopping, a regulariser
which no publication of these methods has, and which a caller has to ask for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh, lu_factor, lu_solve
from scipy.optimize import brentq, minimize
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, Floats, Ints, read_constraints
from likewise.clustering.distances import laplacian_times, squared_distances
from likewise.clustering.k_means import LearnedMetric
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

WIDEST = 30.0  # the best multiple of the identity is looked for from exp(-30) to exp(30)
ONE_PLACE = 1e-12  # of a bound: no metric parts two items that are nearer, so the pair is left out
AT_THE_LIMIT = 1  # scipy's status of a search that max_iter has ended; 2 is one that rounding has

Loss = Callable[[Floats], tuple[float, Floats]]  # squared distances (m,) -> their sum of phi, and phi' of each (m,)


@dataclass(frozen=True, eq=False)
class Bounds:
    """phi of ITML: gamma * weight * h(d / bound) for a pair beyond its bound, h(t) = t - 1 - log t; else nothing.

    It is what the slack xi of the published form costs: D_ld(xi, bound), at the best xi.

    >>> near = Bounds(sign=np.array([1.0, -1.0]), bound=np.array([2.0, 2.0]), weight=np.ones(2), gamma=1.0)
    >>> value, slope = near(np.array([4.0, 4.0]))  # the first pair should be nearer than 2, the second is far enough
    >>> round(value, 3), slope.tolist()
    (0.307, [0.25, 0.0])
    """

    sign: Floats  # (m,) 1: the distance should be the bound or less, -1: the bound or more
    bound: Floats  # (m,)
    weight: Floats  # (m,)
    gamma: float

    def __call__(self, distance: Floats) -> tuple[float, Floats]:
        ratio = np.maximum(distance / self.bound, ONE_PLACE)
        beyond = np.where((self.sign * (ratio - 1) > 0) & (ratio > ONE_PLACE), self.gamma * self.weight, 0.0)
        value = float(beyond @ (ratio - 1 - np.log(ratio)))
        return value, beyond * (1 - 1 / ratio) / self.bound


class Solution(NamedTuple):
    factor: Floats  # (d, d) L of A = L L', so that the rows of X L have the learned distances
    n_iter: int  # steps of the search
    converged: bool  # False where max_iter ended it


def learn_metric(
    items: Floats, ends: Ints, loss: Loss, *, max_iter: int = 1000, tol: float = 1e-4, early_stopping: int | None = None
) -> Solution:
    """The best A, or with `early_stopping` where so many plain steps lead.

    Only differences of items count, so all is done in the space they span, and A is the identity outside it. `tol`
    bounds the entries of the gradient at the end, relative to those of the beginning.

    >>> pull = Bounds(np.ones(1), np.ones(1), np.ones(1), gamma=1.0)
    >>> L = learn_metric(np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0, 1]]), pull).factor
    >>> bool(abs((L @ L.T)[0, 0] - 0.4) < 1e-4), bool(abs((L @ L.T)[1, 1] - 1) < 1e-12)  # F'(a) = 5 - 2 / a
    (True, True)
    """
    d = items.shape[1]
    there, place = np.unique(ends, return_inverse=True)
    if not len(there):
        return Solution(np.eye(d), 0, True)
    place = place.reshape(ends.shape)
    x, basis = _span(items[there])
    r = x.shape[1]
    i, j = place.T
    apart = squared_distances(x, x, i, j)
    first = _best_multiple(r, apart, loss)
    scale, axes = np.ones(r), np.eye(r)  # P = axes diag(scale) axes'
    if early_stopping is None:
        pull = np.abs(loss(first**2 * apart)[1])
        curvature, axes = eigh(np.eye(r) + x.T @ laplacian_times(pull, i, j, x))
        scale = 1 / np.sqrt(curvature)
    x = x @ axes  # A is turned along with the items

    def objective(flat: Floats) -> tuple[float, Floats]:
        factor = scale[:, None] * flat.reshape(r, r)  # L
        mapped = x @ factor  # (n, r)
        value, slope = loss(squared_distances(mapped, mapped, i, j))
        lu, pivots = lu_factor(factor, check_finite=False)
        log_det = 2 * float(np.log(np.abs(lu.diagonal())).sum())
        inverse = lu_solve((lu, pivots), np.eye(r), trans=1, check_finite=False)  # L^-T
        gradient = 2 * scale[:, None] * (factor - inverse + x.T @ laplacian_times(slope, i, j, mapped))
        return float((factor**2).sum()) - log_det + value, gradient.ravel()

    start = np.diag(first / scale).ravel()
    steepest = float(np.abs(objective(start)[1]).max())
    most = max_iter if early_stopping is None else early_stopping
    options: Any = {"maxiter": most, "maxfun": 2 * most, "gtol": tol * max(steepest, 1.0), "ftol": 0.0, "maxcor": 10}
    result = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    factor = axes @ (scale[:, None] * result.x.reshape(r, r)) @ axes.T
    converged = early_stopping is not None or result.status != AT_THE_LIMIT
    return Solution(np.eye(d) + basis @ (factor - np.eye(r)) @ basis.T, int(result.nit), converged)


def _best_multiple(r: int, distance: Floats, loss: Loss) -> float:
    """c of the best L = c I, where the search begins: dF/dc^2 = r - r / c^2 + phi'(c^2 d) d = 0."""

    def slope(log_scale: float) -> float:
        scale = float(np.exp(log_scale))
        return r - r / scale + float(loss(scale * distance)[1] @ distance)

    return float(np.exp(brentq(slope, -WIDEST, WIDEST) / 2))


def _span(items: Floats) -> tuple[Floats, Floats]:
    """Coordinates (n, r) in an orthonormal basis (d, r) of the differences of items."""
    centred = items - items.mean(axis=0)
    n, d = centred.shape
    if n > d:
        return centred, np.eye(d)
    _, size, right = np.linalg.svd(centred, full_matrices=False)
    basis = right[size > size[0] * max(n, d) * np.finfo(np.float64).eps].T if size[0] > 0 else right[:1].T
    return centred @ basis, basis


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
