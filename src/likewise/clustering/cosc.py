"""COSC: constrained 1-spectral clustering, by cutting the neighbour graph in two again and again.

    J = sum over clusters C of  [cut(C) + gamma (must-links cut by C + 2 cannot-links inside C)] / vol(C)

Rangapuram and Hein, Constrained 1-spectral clustering, AISTATS 2012. A cut in two minimises F of constrained_cut.py,
the normalised cut plus gamma for each answer that it goes against. Of all clusters, the one is cut next whose two
halves leave the lowest J, which for two clusters of one volume is F.

Where gamma is not given, it is 1 at first. If some cut keeps all answers about the items of a cluster, one such is then
taken for the start, as like to the cut found as can be, and gamma is raised until every cut that goes against an answer
costs more: so the end keeps all answers, too. With answers that no cut in two keeps, gamma stays at 1.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.sparse import block_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state

from likewise.atomic import atomic
from likewise.clustering.constrained_cut import ConstrainedCut, Set, minimise_cut
from likewise.clustering.constraints import Constraints, Contradictions, Floats, Ints, read_constraints
from likewise.clustering.distances import neighbour_graph
from likewise.clustering.method import COUNT, FROM_0, Rules, Seed, check_items, or_none, whole_from
from likewise.pairs import Pairs

SOFT = 1.0  # gamma, where it is not given: that of an edge between equal items
SMALL = 300  # a graph of so many items is quickly decomposed whole


class COSC(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Constrained 1-spectral clustering.

    Parameters
    ----------
    penalty : gamma, for an answer gone against, beside edges of weight 1 at most; None: as much as keeps all, or 1.
    neighbours : of each item in the graph.
    n_starts : random starts of each cut, beside that from the eigenvector of the graph.

    Attributes
    ----------
    labels_, objective_ (J after each cut), n_violated_

    >>> pairs = Pairs.from_links([(0, 5)], [(0, 2), (2, 3)])
    >>> labels = COSC(n_clusters=2, neighbours=2).fit([[0.0], [1], [2], [10], [11], [12]], pairs=pairs).labels_
    >>> bool(labels[0] == labels[5] != labels[2] != labels[3])
    True
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"penalty": or_none(FROM_0), "neighbours": COUNT, "n_starts": whole_from(0)}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        penalty: float | None = None,
        neighbours: int = 10,
        n_starts: int = 2,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.penalty = penalty
        self.neighbours = neighbours
        self.n_starts = n_starts
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        graph = neighbour_graph(items, self.neighbours, "gaussian")
        cutter = Cutter(graph, constraints, self.penalty, self.n_starts, check_random_state(self.random_state))
        self.labels_, self.objective_ = cut_into(cutter, self.n_clusters)
        inside_must = self.labels_[constraints.must_link[:, 0]] == self.labels_[constraints.must_link[:, 1]]
        inside_cannot = self.labels_[constraints.cannot_link[:, 0]] == self.labels_[constraints.cannot_link[:, 1]]
        self.n_violated_ = int((~inside_must).sum() + inside_cannot.sum())
        return self


class Halves(NamedTuple):
    """A cluster's two halves, and how much lower (or higher) J is with them."""

    left: Ints
    right: Ints
    change: float


class Cutter(NamedTuple):
    graph: csr_array
    constraints: Constraints
    penalty: float | None
    n_starts: int
    random: np.random.RandomState

    def cost(self, cluster: Ints) -> float:
        """The part of a cluster in J; gamma is 1 where it is not given."""
        inside = np.zeros(self.constraints.n_items)
        inside[cluster] = 1.0
        outside = 1 - inside
        gamma = SOFT if self.penalty is None else self.penalty
        against = inside @ (self.constraints.must @ outside) + inside @ (self.constraints.cannot @ inside)
        return float((inside @ (self.graph @ outside) + gamma * against) / (inside @ self.graph.sum(axis=1)))

    def halve(self, cluster: Ints) -> Halves:
        """The best cut of a cluster of two items or more."""
        parts = [
            csr_array(graph[cluster][:, cluster])
            for graph in (self.graph, self.constraints.must, self.constraints.cannot)
        ]
        volume = np.asarray(self.graph.sum(axis=1), dtype=np.float64).ravel()[cluster]
        gamma = SOFT if self.penalty is None else self.penalty
        problem = ConstrainedCut(parts[0], parts[1], parts[2], volume, gamma)
        starts = [_eigenvector(csr_array(parts[0] + gamma * parts[1]), volume, self.random)]
        starts += [self.random.standard_normal(len(cluster)) for _ in range(self.n_starts)]
        side = min((minimise_cut(problem, start)[:2] for start in starts), key=lambda cut: cut[1])[0]
        if self.penalty is None:
            side = keep_all(problem, side)
        left, right = cluster[~side], cluster[side]
        return Halves(left, right, self.cost(left) + self.cost(right) - self.cost(cluster))


def cut_into(cutter: Cutter, n_clusters: int) -> tuple[Ints, list[float]]:
    """Labels, and J from one cluster on. A cluster's halves are found once, when it comes to be."""
    n = cutter.constraints.n_items
    clusters = [np.arange(n)]
    halves: list[Halves | None] = [cutter.halve(clusters[0])]
    objective = [cutter.cost(clusters[0])]
    while len(clusters) < n_clusters:
        changes = [half.change if half is not None else np.inf for half in halves]
        chosen = int(np.argmin(changes))
        half = halves[chosen]
        assert half is not None  # n_clusters is n at most, so some cluster has two items
        clusters[chosen : chosen + 1] = [half.left, half.right]
        halves[chosen : chosen + 1] = [
            cutter.halve(part) if len(part) > 1 else None for part in (half.left, half.right)
        ]
        objective.append(objective[-1] + half.change)
    labels = np.empty(n, dtype=np.int64)
    for label, cluster in enumerate(clusters):
        labels[cluster] = label
    return labels, objective


def keep_all(problem: ConstrainedCut, side: Set) -> Set:
    """The cut that descends from the most like one that keeps all answers, and keeps them; the same, where none does.

    An item has one of two colours. A must-link joins the equal colours of two items, a cannot-link the unequal ones;
    answers can be kept unless this joins both colours of an item. What is joined has one way and its mirror image.
    """
    n = len(side)
    must, cannot = problem.must, problem.cannot
    colours = block_array([[must, cannot], [cannot, must]])  # (2n, 2n)
    n_joined, joined = connected_components(colours, directed=False)
    first, second = joined[:n], joined[n:]
    if (first == second).any():
        return side
    likeness = np.bincount(first[side], minlength=n_joined) + np.bincount(second[~side], minlength=n_joined)
    kept = likeness[first] + (first < second) * 0.5 > likeness[second]  # a tie is for one of the two ways, not for both
    if kept.all() or not kept.any():  # the least that can be turned over is
        least = int(np.abs(likeness[first] - likeness[second]).argmin())
        kept ^= (first == first[least]) | (first == second[least])
    weights = np.concatenate([must.data, cannot.data])
    if kept.all() or not kept.any() or not len(weights):
        return side
    stricter = 1.01 * problem.ratio(kept.astype(np.float64)) * float(problem.volume.sum()) / (4 * float(weights.min()))
    strict = ConstrainedCut(problem.graph, must, cannot, problem.volume, max(stricter, problem.gamma))
    return minimise_cut(strict, kept.astype(np.float64))[0]


def _eigenvector(graph: csr_array, volume: Floats, random: np.random.RandomState) -> Floats:
    """The second eigenvector of the normalised graph, divided by the root of the volume."""
    root = 1 / np.sqrt(volume)
    scaled = csr_array(graph.multiply(root[:, None]).multiply(root[None, :]))
    n = len(volume)
    if n <= SMALL:
        vector = eigh(scaled.toarray(), subset_by_index=[max(n - 2, 0), n - 1])[1][:, 0]
    else:
        value, vectors = eigsh(scaled, 2, which="LA", v0=random.uniform(0.5, 1.5, size=n), tol=1e-3)
        vector = vectors[:, int(np.argmin(value))]
    return np.asarray(root * vector)
