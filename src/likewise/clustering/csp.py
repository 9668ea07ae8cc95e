"""CSP: constrained spectral clustering as one generalised eigenproblem.

    min v' L v   subject to   v' Q v >= beta,  v' v = 1:      L v = mu (Q - beta I) v,  the vectors with mu > 0

L = I - D^-1/2 A D^-1/2 is the normalised Laplacian of the neighbour graph A, D its degrees; Q = D^-1/2 S D^-1/2 holds
the answers, S_ij > 0 for a must-link, < 0 for a cannot-link. A vector u = D^-1/2 v of cluster membership agrees with
the answers as far as u' S u is large. Every vector with mu > 0 keeps the bound, and one of a lower cost v' L v cuts
less of the graph. For K clusters, the K - 1 of the lowest costs are taken, each weighted by 1 - v' L v, and k-means on
the rows of D^-1/2 V gives the clusters.

Wang and Davidson, Flexible constrained spectral clustering, KDD 2010; Wang, Qian and Davidson, On constrained spectral
clustering and its applications, 2014. beta lies below the (K-1)-th eigenvalue of Q, so that there are enough vectors:
at 0.5 + 0.4 (share of pairs answered) of it, as there for K = 2. The pencil is solved as (Q - beta I) v = (1 / mu) L v
by Lanczos steps, with a sparse factorisation of L + epsilon I: no dense matrix is decomposed.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csc_array, csr_array, diags_array, eye_array
from scipy.sparse.linalg import LinearOperator, eigsh, splu
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, Floats, as_it_multiplies, read_constraints
from likewise.clustering.distances import neighbour_graph
from likewise.clustering.k_means import fit_centres
from likewise.clustering.method import COUNT, Rules, Seed, check_items, number_where, or_none
from likewise.errors import InputError
from likewise.pairs import Pairs

EPSILON = 1e-6  # makes L definite: without it, the constant vector has no cost at all
SPARE = 10  # vectors computed beyond those needed: the cheapest are not always those of the greatest 1 / mu


class CSP(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Constrained spectral clustering.

    Parameters
    ----------
    neighbours : of each item in the graph.
    strictness : beta, as a share (below 1) of the (K-1)-th eigenvalue of Q; None: by the share of pairs answered.

    Attributes
    ----------
    labels_, embedding_ (n, K - 1), costs_ (K - 1,) v' L v, satisfaction_ (K - 1,) v' Q v, beta_

    >>> pairs = Pairs.from_links([(0, 1), (1, 2), (3, 4), (4, 5)], [(0, 3), (2, 5)])
    >>> labels = CSP(n_clusters=2, neighbours=3).fit([[0.0], [1], [2], [3], [4], [5]], pairs=pairs).labels_
    >>> bool((labels[:3] == labels[0]).all() and (labels[3:] == 1 - labels[0]).all())
    True
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "neighbours": COUNT,
        "strictness": or_none(number_where("below 1", lambda strictness: strictness < 1)),
        "n_init": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        neighbours: int = 10,
        strictness: float | None = None,
        n_init: int = 10,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.neighbours = neighbours
        self.strictness = strictness
        self.n_init = n_init
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        random = check_random_state(self.random_state)
        graph = neighbour_graph(items, self.neighbours, "gaussian")
        share = 2 * len(constraints) / (len(items) * (len(items) - 1))
        strictness = 0.5 + 0.4 * share if self.strictness is None else self.strictness
        solution = constrained_vectors(graph, constraints.signed, max(self.n_clusters - 1, 1), strictness, random)
        self.costs_, self.satisfaction_, self.beta_ = solution.costs, solution.satisfaction, solution.beta
        self.embedding_ = solution.embedding
        if self.n_clusters > 1 and not self.embedding_.shape[1]:
            raise InputError(
                f"The answers hold all items together and leave no cut into {self.n_clusters} clusters; give some that "
                "say different, or a lower strictness."
            )
        rows = self.embedding_ if self.embedding_.shape[1] else items  # one cluster needs no cut
        self.labels_ = fit_centres(rows, self.n_clusters, self.n_init, random).labels_
        return self


class Vectors(NamedTuple):
    embedding: Floats  # (n, k) D^-1/2 V (1 - costs)
    costs: Floats  # (k,)
    satisfaction: Floats  # (k,)
    beta: float


def constrained_vectors(
    graph: csr_array, signed: csr_array, n_vectors: int, strictness: float, random: np.random.RandomState
) -> Vectors:
    """The cheapest vectors that keep the bound; fewer, where the answers allow fewer.

    Without answers, Q - beta I is taken for I, and the vectors are those of the normalised cut.
    """
    n = graph.shape[0]
    root = 1 / np.sqrt(np.asarray(graph.sum(axis=1)).ravel())  # D^-1/2; every item has a neighbour
    scale = diags_array(root)
    laplacian = csc_array(eye_array(n) - scale @ graph @ scale)
    sparse = csr_array(scale @ signed @ scale) if signed.nnz else csr_array(eye_array(n))
    answers = as_it_multiplies(sparse)
    start = random.uniform(-1, 1, size=n)
    beta = strictness * _eigenvalue(answers, n_vectors, start) if signed.nnz else 0.0

    bent = LinearOperator((n, n), matvec=lambda v: answers @ v - beta * v, dtype=np.float64)
    regular = csc_array(laplacian + EPSILON * eye_array(n))
    inverse = LinearOperator((n, n), matvec=splu(regular).solve, dtype=np.float64)
    count = min(n_vectors + SPARE, n - 1)
    value, v = eigsh(bent, count, M=regular, Minv=inverse, which="LA", v0=start, tol=1e-6)
    v = v[:, value > 0] / np.sqrt((v[:, value > 0] ** 2).sum(axis=0))
    v = v[:, _not_constant(v, 1 / root)] if signed.nnz else _without_constant(v, 1 / root, laplacian)
    costs = np.einsum("ik,ik->k", v, laplacian @ v)
    cheapest = np.argsort(costs, kind="stable")[:n_vectors]
    v, costs = v[:, cheapest], costs[cheapest]
    return Vectors(root[:, None] * v * (1 - costs), costs, np.einsum("ik,ik->k", v, answers @ v), beta)


def _eigenvalue(answers: csr_array | Floats, place: int, start: Floats) -> float:
    """The eigenvalue of this place, from the greatest; of the last above 0 where there are not so many."""
    n = len(start)
    values: Floats = eigsh(answers, min(place, n - 1), which="LA", v0=start, return_eigenvectors=False, tol=1e-6)
    return float(values[values > 1e-8 * values.max()].min())


def _without_constant(v: Floats, trivial: Floats, laplacian: csc_array) -> Floats:
    """The vectors of the same space that are orthogonal to D^1/2 1, by their costs.

    Where the graph is in parts, several vectors cost nothing, and D^1/2 1 may be hidden in all of them.
    """
    unit = trivial / np.sqrt(trivial @ trivial)
    basis, length, _ = np.linalg.svd(v - np.outer(unit, unit @ v), full_matrices=False)
    basis = basis[:, length > 1e-6]
    vectors: Floats = basis @ np.linalg.eigh(basis.T @ (laplacian @ basis))[1]
    return vectors


def _not_constant(v: Floats, trivial: Floats) -> NDArray[np.bool_]:
    """Which of the unit vectors are not D^1/2 1, which puts all items in one cluster."""
    return np.asarray(np.abs(trivial @ v) < 0.999 * np.sqrt(trivial @ trivial))
