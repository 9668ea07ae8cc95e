"""CECM: evidential c-means with answers; what is known of an item is a mass on sets of clusters.

    J = (1 - xi) / (F n) sum_i [ sum_A |A|^alpha m_iA^2 d_iA^2 + rho^2 m_i0^2 ]
        + xi / w [ sum over must-links of w_ij pl(i != j) + sum over cannot-links of w_ij pl(i = j) ]

    pl(i != j) = (1 - m_i0) (1 - m_j0) - sum_k m_i{k} m_j{k},        pl(i = j) = sum over A, B that meet of m_iA m_jB

A runs over F focal sets of clusters, m_i0 is the mass of the empty one (an outlier), and the masses of an item sum to
1. d_iA is the distance to the mean of the centres of A, in units of the items' spread, so that J is the same at any
scale. w is the weight of all answers. In turns, J never rises:

- masses: J is quadratic in them. Its bilinear part is bounded by its tangent and L / 2 ||change||^2, L doubled until it
  is; what is left is separate for each item, and has its exact minimum on the simplex, below.
- centres: a linear system, as in evidential c-means.

Antoine, Quost, Masson and Denoeux, CECM: constrained evidential C-means algorithm, 2012, with the Euclidean distance
(they also have a variant with a metric for each cluster). They take all 2^K sets; the literature leaves out most of
them where there are many clusters, and so does "auto" here: all sets up to K = 4, the empty and whole sets, single
clusters and pairs below K = 10, and no pairs from there on.
"""

from __future__ import annotations

from itertools import combinations
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, as_it_multiplies, read_constraints
from likewise.clustering.k_means import fit_centres
from likewise.clustering.method import (
    ABOVE_0,
    COUNT,
    FROM_0,
    Rules,
    Seed,
    check_items,
    number_where,
    one_of,
    warn_unless,
)
from likewise.errors import InputError
from likewise.pairs import Pairs

LEAST = 1e-9  # a squared distance, so that an item at a centre has masses too
FocalSets = Literal["auto", "all", "pairs", "single"]


class CECM(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Constrained evidential c-means.

    Parameters
    ----------
    xi : the share of the answers in J, from 0 (the items alone) to 1.
    alpha : the exponent of a set's size: the higher, the less mass on large sets.
    rho : the distance of an outlier from everything, in units of the items' spread.
    focal_sets : "all", "pairs" (with the empty and whole sets and single clusters), "single" (without pairs), "auto".

    Attributes
    ----------
    labels_ (the greatest pignistic probability), masses_ (n, F), focal_sets_ (F, K), cluster_centers_ (K, d),
    objective_ (a list)

    >>> pairs = Pairs.from_links([(0, 2)], [(2, 3)])
    >>> model = CECM(n_clusters=2).fit([[0.0], [1], [4], [5], [8], [9]], pairs=pairs)
    >>> bool(model.labels_[0] == model.labels_[2] != model.labels_[3] == model.labels_[5])
    True
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "xi": number_where("of 0 or more and below 1", lambda xi: 0 <= xi < 1),
        "alpha": FROM_0,
        "rho": ABOVE_0,
        "focal_sets": one_of(FocalSets),
        "max_iter": COUNT,
        "tol": FROM_0,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        xi: float = 0.5,
        alpha: float = 1.0,
        rho: float = 3.0,
        focal_sets: FocalSets = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.xi = xi
        self.alpha = alpha
        self.rho = rho
        self.focal_sets = focal_sets
        self.max_iter = max_iter
        self.tol = tol
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        self.focal_sets_ = focal_sets(self.n_clusters, self.focal_sets)
        centres = fit_centres(items, self.n_clusters, 3, check_random_state(self.random_state)).cluster_centers_
        solution = minimise(items, constraints, self.focal_sets_, centres, self)
        self.masses_, self.cluster_centers_, self.objective_ = solution[:3]
        self.n_iter_ = len(self.objective_)
        warn_unless(solution.converged, self, "max_iter")
        self.labels_ = pignistic(self.masses_, self.focal_sets_).argmax(axis=1)
        self._spread = _spread(items)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The cluster of the greatest pignistic probability of new items, of which no pair is known."""
        check_is_fitted(self)
        items = validate_data(self, X, dtype=np.float64, reset=False)
        cost = set_costs(items, self.cluster_centers_, self.focal_sets_, self._spread, self.alpha, self.rho)
        return np.asarray(pignistic(free_masses(cost), self.focal_sets_).argmax(axis=1))


class Credal(NamedTuple):
    masses: Floats  # (n, F)
    centres: Floats  # (K, d)
    objective: list[float]  # J after each turn
    converged: bool


def focal_sets(n_clusters: int, kind: FocalSets) -> NDArray[np.bool_]:
    """(F, K) Which clusters are in each set; the first is empty.

    >>> focal_sets(3, "single").astype(int).tolist()
    [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    """
    if kind == "all" and n_clusters > 12:
        raise InputError(f"{n_clusters} clusters have 2^{n_clusters} sets; give focal_sets='pairs' or 'single'.")
    if kind == "auto":
        kind = "all" if n_clusters <= 4 else "pairs" if n_clusters < 10 else "single"
    sizes = {"all": range(n_clusters + 1), "pairs": (0, 1, 2, n_clusters), "single": (0, 1, n_clusters)}[kind]
    chosen = [members for size in sorted(set(sizes)) for members in combinations(range(n_clusters), size)]
    sets = np.zeros((len(chosen), n_clusters), dtype=np.bool_)
    for row, members in enumerate(chosen):
        sets[row, list(members)] = True
    return sets


def minimise(
    items: Floats, constraints: Constraints, sets: NDArray[np.bool_], centres: Floats, settings: CECM
) -> Credal:
    """Masses and centres in turns, from these centres on."""
    n, n_sets, spread = len(items), len(sets), _spread(items)
    size = np.maximum(sets.sum(axis=1), 1)
    evidence = Evidence.of(constraints, sets, settings.xi)
    share = (1 - settings.xi) / (n_sets * n)
    masses = np.empty((n, n_sets))
    objective: list[float] = []
    per_cluster = sets / size[:, None]  # (F, K)
    for turn in range(settings.max_iter):
        if turn:
            weight = size**settings.alpha * masses**2  # (n, F)
            weight[:, 0] = 0.0
            system = per_cluster.T @ (weight.sum(axis=0)[:, None] * per_cluster)  # (K, K)
            centres = np.linalg.lstsq(system, per_cluster.T @ (weight.T @ items), rcond=None)[0]
        cost = share * set_costs(items, centres, sets, spread, settings.alpha, settings.rho)
        if not turn:
            masses = free_masses(cost)
        masses, value = lower_masses(masses, cost, evidence)
        objective.append(value)
        if turn and objective[-2] - value <= settings.tol * abs(value):
            return Credal(masses, centres, objective, converged=True)
    return Credal(masses, centres, objective, converged=False)


def set_costs(
    items: Floats, centres: Floats, sets: NDArray[np.bool_], spread: float, alpha: float, rho: float
) -> Floats:
    """(n, F) |A|^alpha d_iA^2, and rho^2 for the empty set: what m_iA^2 costs."""
    size = np.maximum(sets.sum(axis=1), 1)
    means = sets / size[:, None] @ centres  # (F, d)
    squared = (items**2).sum(axis=1)[:, None] + (means**2).sum(axis=1) - 2 * items @ means.T
    cost = size**alpha * np.maximum(squared, 0.0) / spread
    cost[:, 0] = rho**2
    return np.asarray(np.maximum(cost, LEAST))


def free_masses(cost: Floats) -> Floats:
    """(n, F) Evidential c-means' own masses, the best where there are no answers.

    >>> free_masses(np.array([[1.0, 3.0]])).tolist()
    [[0.75, 0.25]]
    """
    return np.asarray(1 / cost / (1 / cost).sum(axis=1, keepdims=True))


def _spread(items: Floats) -> float:
    """The mean squared distance to the mean; 1 where all items are at one place."""
    return float(((items - items.mean(axis=0)) ** 2).sum(axis=1).mean()) or 1.0


def pignistic(masses: Floats, sets: NDArray[np.bool_]) -> Floats:
    """(n, K) The mass of each set shared among its clusters, that of the empty one among all.

    >>> pignistic(np.array([[0.0, 0.5, 0.0, 0.5]]), focal_sets(2, "all")).tolist()
    [[0.75, 0.25]]
    """
    size = sets.sum(axis=1, keepdims=True)
    shared = np.where(size > 0, sets / np.maximum(size, 1), 1 / sets.shape[1])
    return np.asarray(masses @ shared)


# Masses on sets of clusters that answers and distances agree on: the quadratic problem of CECM.
#
# min over masses of  sum_iA cost_iA m_iA^2 + q(m),     q the plausibilities that answers are against, bilinear
# q(m + D) <= q(m) + <g, D> + L / 2 ||D||^2 for L large enough; the sum is least, for each item by itself, at
#
# m_A = max(0, (tau - c_A) / h_A),     h_A = 2 cost_A + L,   c_A = g_A - L m_A (old),   tau such that they sum to 1

STEPS, LEAST_GAIN = 50, 1e-5  # of masses, before the centres are moved


class Evidence(NamedTuple):
    """q, from the answers' weights and from which sets meet, and which are the same single cluster."""

    must: csr_array | Floats  # (n, n)
    cannot: csr_array | Floats
    full: Floats  # (F,) 1 for a set that is not empty
    single: Floats  # (F,) 1 for a set of one cluster
    meet: Floats  # (F, F) 1 for sets that share a cluster
    scale: float  # xi / w

    @classmethod
    def of(cls, constraints: Constraints, sets: NDArray[np.bool_], xi: float) -> Self:
        total = float(constraints.must_weight.sum() + constraints.cannot_weight.sum())
        must, cannot = as_it_multiplies(constraints.must), as_it_multiplies(constraints.cannot)
        size = sets.sum(axis=1)
        meet = (sets.astype(np.float64) @ sets.T > 0).astype(np.float64)
        return cls(must, cannot, (size > 0) * 1.0, (size == 1) * 1.0, meet, xi / total if total else 0.0)

    def gradient(self, masses: Floats) -> Floats:
        """(n, F) of q; q itself is half of its product with the masses, being bilinear."""
        if not self.scale:
            return np.zeros_like(masses)
        must = self.must @ masses
        unequal = np.outer(must @ self.full, self.full) - must * self.single
        return np.asarray(self.scale * (unequal + self.cannot @ (masses @ self.meet)))


def lower_masses(masses: Floats, cost: Floats, evidence: Evidence) -> tuple[Floats, float]:
    """Masses of a lower value, and that value."""
    gradient = evidence.gradient(masses)
    value = float((cost * masses**2).sum() + (gradient * masses).sum() / 2)
    bound = float(cost.mean())
    for _ in range(STEPS):
        while True:
            stepped = on_simplex(2 * cost + bound, gradient - bound * masses)
            change = stepped - masses
            curved = evidence.gradient(change)
            length = float((change**2).sum())
            if float((curved * change).sum()) <= bound * length * (1 + 1e-9):
                break
            bound *= 2
        masses, gradient = stepped, gradient + curved
        lower = float((cost * masses**2).sum() + (gradient * masses).sum() / 2)
        gain, value = value - lower, lower
        if gain <= LEAST_GAIN * abs(value):
            break
        bound /= 1.5
    return masses, value


def on_simplex(curvature: Floats, slope: Floats) -> Floats:
    """(n, F) The least sum_A h_A m_A^2 / 2 + c_A m_A in each row, among masses of 0 and above that sum to 1.

    >>> on_simplex(np.ones((1, 3)), np.array([[-0.5, -1.5, 1.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    order = np.argsort(slope, axis=1)
    ordered = np.take_along_axis(slope, order, axis=1)
    loose = 1 / np.take_along_axis(curvature, order, axis=1)
    level = (1 + np.cumsum(ordered * loose, axis=1)) / np.cumsum(loose, axis=1)  # tau, were so many sets in use
    used = (ordered < level).sum(axis=1)
    tau = np.take_along_axis(level, used[:, None] - 1, axis=1)
    return np.maximum((tau - slope) / curvature, 0.0)
