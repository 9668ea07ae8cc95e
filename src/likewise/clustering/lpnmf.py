"""LPNMF: nonnegative parts that near items share.

    O = sum_jf x_jf log(x_jf / y_jf) - x_jf + y_jf  +  lambda / 4 sum_jl W_jl (D(v_j || v_l) + D(v_l || v_j)),  Y = V U'
    D(a || b) = sum_k a_k log(a_k / b_k) - a_k + b_k,      V (n, K) >= 0,  U (d, K) >= 0 with columns that sum to 1

W joins each item to its nearest neighbours, with weight 1, and L is its Laplacian. In turns, with a_jk and b_fk the
products of x / y with U and V, times V and U, as in every factorisation by the Kullback-Leibler divergence:

    U <- b_fk / sum_f b_fk,         V <- (I + lambda L)^-1 a

The step of V is the published one: it takes log(v_j / v_l) for 1 - v_l / v_j, which holds where neighbours are alike.
For lambda = 0 the objective cannot rise; else it is watched, and the best V is kept. As the columns of U sum to 1, the
matrix is the same for all parts and steps, and is factored once. K-means on the rows of V gives the clusters.

Cai, He, Wang, Bao and Han, Locality preserving nonnegative matrix factorization, IJCAI 2009.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import splu
from scipy.special import kl_div, xlogy
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constraints import Floats
from likewise.clustering.distances import neighbour_graph
from likewise.clustering.k_means import fit_centres
from likewise.clustering.method import COUNT, FROM_0, Rules, Seed, check_items
from likewise.errors import InputError
from likewise.pairs import Pairs

TINY = 1e-12  # beside the mean of a matrix: a part that is 0 everywhere would stay so


class LPNMF(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Locality preserving nonnegative matrix factorisation; it accepts pairs like every other method, and ignores them.

    Parameters
    ----------
    smoothness : lambda, how much neighbours should be made of the same parts. It stands beside columns of U that sum to
        1, where the customary 100 leaves the graph alone to say what the parts are; 1 weighs it like the items.
    neighbours : of each item in the graph.
    max_iter : the most steps, a fixed number as is usual; n_iter_ is lower where O stopped falling before. That may
        take thousands.

    Attributes
    ----------
    labels_, representation_ (n, K) V, components_ (K, d) U', objective_ (a list)

    >>> X = [[5, 4, 0, 0], [4, 5, 0, 0], [5, 5, 0, 0], [0, 0, 3, 4], [0, 0, 4, 4], [0, 0, 4, 3]]
    >>> labels = LPNMF(n_clusters=2, neighbours=2).fit(X).labels_
    >>> bool((labels[:3] == labels[0]).all() and (labels[3:] == 1 - labels[0]).all())
    True
    """

    uses_pairs: ClassVar[bool] = False
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"smoothness": FROM_0, "neighbours": COUNT, "max_iter": COUNT, "n_init": COUNT}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        smoothness: float = 1.0,
        neighbours: int = 5,
        max_iter: int = 200,
        n_init: int = 10,
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.smoothness = smoothness
        self.neighbours = neighbours
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        if (items < 0).any():
            raise InputError(
                "Negative values in data passed to LPNMF, which needs 0 and above; shift them, or use lsc."
            )
        if not items.any():
            raise InputError("LPNMF has nothing to write in parts: X is 0 everywhere.")
        random = check_random_state(self.random_state)
        graph = neighbour_graph(items, self.neighbours, "one")
        factors = factorise(items, graph, self.n_clusters, self.smoothness, self.max_iter, random)
        self.representation_, self.components_, self.objective_ = factors.items, factors.parts.T, factors.objective
        self.n_iter_ = max(len(self.objective_) - 1, 1)
        self.labels_ = fit_centres(self.representation_, self.n_clusters, self.n_init, random).labels_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class Factors(NamedTuple):
    items: Floats  # (n, K) V
    parts: Floats  # (d, K) U
    objective: list[float]  # O at the start and after each step


def factorise(
    items: Floats, graph: csr_array, n_parts: int, smoothness: float, max_iter: int, random: np.random.RandomState
) -> Factors:
    """V and U of the lowest objective that was met, from a random start."""
    n, d = items.shape
    degree = np.asarray(graph.sum(axis=1)).ravel()
    smooth = splu(csc_array(eye_array(n) + smoothness * (diags_array(degree) - graph)))
    parts = random.uniform(0.5, 1.5, size=(d, n_parts))
    parts /= parts.sum(axis=0)
    v = random.uniform(0.5, 1.5, size=(n, n_parts)) * items.sum(axis=1, keepdims=True) / n_parts
    v = np.maximum(smooth.solve(v), TINY * v.mean())
    objective = [_objective(items, v, parts, graph, smoothness)]
    best = Factors(v, parts, objective)
    for _ in range(max_iter):
        parts = parts * (_ratio(items, v, parts).T @ v)
        parts = np.maximum(parts, TINY * parts.mean())
        parts /= parts.sum(axis=0)
        v = smooth.solve(v * (_ratio(items, v, parts) @ parts))
        v = np.maximum(v, TINY * v.mean())
        objective.append(_objective(items, v, parts, graph, smoothness))
        if objective[-1] <= min(objective):
            best = Factors(v, parts, objective)
        if objective[-2] - objective[-1] <= 1e-8 * objective[0]:
            break
    return best


def _ratio(items: Floats, v: Floats, parts: Floats) -> Floats:
    return np.asarray(items / (v @ parts.T))


def _objective(items: Floats, v: Floats, parts: Floats, graph: csr_array, smoothness: float) -> float:
    """O. The terms of D(v_j || v_l) + D(v_l || v_j) are (v_j - v_l) (log v_j - log v_l), so that L gives their sum."""
    log_v = np.log(v)
    degree = np.asarray(graph.sum(axis=1)).ravel()[:, None]
    rough = float((degree * xlogy(v, v)).sum() - (log_v * (graph @ v)).sum())
    return float(kl_div(items, v @ parts.T).sum()) + smoothness / 2 * rough
