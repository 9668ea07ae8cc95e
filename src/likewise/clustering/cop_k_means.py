"""COP-KMeans: k-means that breaks no constraint.

    J = sum_i ||x_i - mu_{l_i}||^2    with  l_i = l_j for must-links  and  l_i != l_j for cannot-links

What chains of must-links hold together moves together. The published algorithm puts one item after the other into the
nearest cluster that is allowed, and gives up where none is; here a dead end is backed out of (see `colour`), so that it
ends with labels that keep all constraints, with a proof that there are none, or, after `max_dead_ends`, by saying that
neither was found. Between two averages, groups then move one by one while J falls. Answers that are to be repaired, and
still do not fit K clusters, are left out where PCK-means breaks them, if it minds answers before distances.

Wagstaff, Cardie, Rogers and Schroedl, Constrained k-means clustering with background knowledge, ICML 2001.
"""

from __future__ import annotations

import warnings
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, Ints, read_constraints
from likewise.clustering.k_means import nearest
from likewise.clustering.method import COUNT, Rules, Seed, check_items, one_of, warn_unless, whole_from
from likewise.clustering.pck_means import PCKMeans, means, reassign, starts
from likewise.errors import InputError
from likewise.pairs import Pairs, answers_about

MOST_NAMED = 5  # items in a message


class COPKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means that keeps every constraint, or says that it cannot.

    Parameters
    ----------
    n_clusters : K.
    n_init : starts, of which the one with the lowest J in the end is kept; the first is from neighbourhoods.
    max_iter : the most rounds of placing and averaging.
    max_dead_ends : how many to back out of, in a round, before giving up.
    contradictions : "refuse" or "repair"; a method that keeps every constraint cannot accept them. With "repair", the
        least credible answers are left out, also where all would need more than K clusters.

    Attributes
    ----------
    labels_, cluster_centers_ (K, d), objective_ (J after each round), n_iter_, n_features_in_

    >>> pairs = Pairs.from_arrays([(0, 1), (2, 3)], [0, 0])  # against the distances
    >>> COPKMeans(n_clusters=2).fit([[0.0], [1.0], [8.0], [9.0]], pairs=pairs).labels_
    array([1, 0, 1, 0])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "n_init": COUNT,
        "max_iter": COUNT,
        "max_dead_ends": whole_from(0),
        "contradictions": one_of(Literal["refuse", "repair"]),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 5,
        max_iter: int = 100,
        max_dead_ends: int = 20_000,
        contradictions: Contradictions = "refuse",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.max_dead_ends = max_dead_ends
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions, hard=True)
        middle = items.mean(axis=0)
        items = items - middle
        random = check_random_state(self.random_state)
        try:
            converged = self._search(items, constraints, random)
        except NoColouring as none:
            if self.contradictions != "repair" or pairs is None:
                raise InputError(self._why_not(none, constraints)) from none
            constraints, labels = self._that_fit(items, answers_about(pairs, X), random)
            converged = self._search(items, constraints, random, labels)
        self.cluster_centers_ += middle
        self.n_iter_ = len(self.objective_)
        warn_unless(converged, self, "max_iter")
        return self

    def _search(
        self, items: Floats, constraints: Constraints, random: np.random.RandomState, known: Ints | None = None
    ) -> bool:
        """The best of some starts, and whether it settled; labels (n,) that keep all constraints help, where known."""
        group, apart = constraints.component, _between_groups(constraints)
        first = np.unique(group, return_index=True)[1]
        self.objective_, converged = [np.inf], False
        for _, centres in starts(items, group, self.n_clusters, self.n_init, random):
            placed = None if known is None else known[first]  # (g,) the clusters of the groups
            history: list[float] = []
            while len(history) < self.max_iter:
                before, placed = placed, self._place(_group_costs(items, group, centres), apart, placed)
                centres = means(items, placed[group], centres)
                history.append(float(((items - centres[placed[group]]) ** 2).sum()))
                if unchanged := before is not None and bool((placed == before).all()):
                    break
            if placed is not None and history[-1] < self.objective_[-1]:
                self.labels_, self.cluster_centers_, self.objective_ = placed[group], centres, history
                converged = unchanged
        return converged

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest centre of each row."""
        check_is_fitted(self)
        return nearest(validate_data(self, X, dtype=np.float64, reset=False), self.cluster_centers_)

    def _place(self, cost: Floats, apart: csr_array, placed: Ints | None) -> Ints:
        """Clusters for the groups: a new colouring, but where it costs more the one before; then single moves."""
        try:
            coloured, part = colour(cost, apart, self.max_dead_ends)
        except NoColouring:
            if placed is None:
                raise
            coloured, part = placed, np.zeros(len(placed), dtype=np.int64)
        if placed is not None:
            everyone = np.arange(len(placed))
            saved = np.bincount(part, cost[everyone, placed] - cost[everyone, coloured])
            coloured = np.where(saved[part] > 0, coloured, placed)
        forbidding = 2 * max(float(np.ptp(cost)), 1.0)  # no gain is worth a broken cannot-link
        links = csr_array(-forbidding * apart)
        costs = cost - links @ np.eye(self.n_clusters)[coloured]
        return reassign(costs, coloured, links, lambda h, j, entries: links.data[entries])

    def _that_fit(self, items: Floats, pairs: Pairs, random: np.random.RandomState) -> tuple[Constraints, Ints]:
        """Constraints that K clusters can keep, and labels that do."""
        constraints = read_constraints(pairs, len(items))
        before_distances = float(len(items))  # what all items pay for their distances is n / 2 at most
        lenient = PCKMeans(self.n_clusters, weight=before_distances, n_init=self.n_init, random_state=random)
        labels = lenient.fit(items, pairs=pairs).labels_
        must, cannot = (
            labels[ends[:, 0]] == labels[ends[:, 1]] for ends in (constraints.must_link, constraints.cannot_link)
        )
        kept = Constraints(
            constraints.n_items,
            constraints.must_link[must],
            constraints.cannot_link[~cannot],
            constraints.must_weight[must],
            constraints.cannot_weight[~cannot],
        )
        warnings.warn(
            f"Without contradictions, the answers still do not fit {self.n_clusters} clusters: those about "
            f"{len(constraints) - len(kept)} of {len(constraints)} pairs are left out.",
            stacklevel=3,
        )
        return kept, labels

    def _why_not(self, none: NoColouring, constraints: Constraints) -> str:
        first = np.unique(constraints.component, return_index=True)[1][none.groups]
        some = ", ".join(str(item) for item in np.sort(first)[:MOST_NAMED]) + (
            ", ..." if len(first) > MOST_NAMED else ""
        )
        if none.proven:
            return (
                f"No assignment to {self.n_clusters} clusters keeps all answers about items {some} and those linked to "
                "them; give more clusters, or use pck-means, which may break some."
            )
        return (
            f"No assignment to {self.n_clusters} clusters that keeps all answers about items {some} was found in "
            f"{self.max_dead_ends} dead ends; give more clusters, a higher max_dead_ends, or use pck-means, which may "
            "break some."
        )


def _between_groups(constraints: Constraints) -> csr_array:
    """(g, g) 1 for each two groups of which some items cannot be together."""
    i, j = constraints.component[constraints.cannot_link].T
    g = int(constraints.component.max()) + 1
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    apart = csr_array((np.ones(2 * len(i)), both), shape=(g, g))
    apart.sum_duplicates()
    apart.data[:] = 1.0
    return apart


def _group_costs(items: Floats, group: Ints, centres: Floats) -> Floats:
    """(g, K) The sum of ||x_i - mu_h||^2 over the items of each group, without the part that is the same for all h."""
    total = np.zeros((int(group.max()) + 1, items.shape[1]))
    np.add.at(total, group, items)
    size = np.bincount(group)
    return np.asarray(size[:, None] * (centres**2).sum(axis=1) - 2 * total @ centres.T)


# Groups into clusters so that no cannot-link is broken: graph colouring, the cheap colours first, with backtracking.
#
# The group with the fewest clusters left goes next (Brélaz's rule, 1979), to the cluster where it costs least. Where
# one has none left the last choice is undone, and the next best tried. Clusters that nobody is in yet are all alike to
# the cannot-links, so that of these only the cheapest is tried: one group more than clusters, all different, are found
# out in as many steps. Parts of the graph that no cannot-link connects are solved apart.
#
# After too many dead ends all groups are placed at once, and those in conflict moved so that the fewest cannot-links
# are broken, but not back where they were (tabu search; Hertz and de Werra 1987). That finds more, and proves nothing.

TENURE = 0.6  # of the groups in conflict: for so many moves none goes back where it was


class NoColouring(Exception):
    """There is none (`proven`), or none was found before too many dead ends; `groups` is the part of the graph."""

    def __init__(self, groups: Ints, proven: bool) -> None:
        super().__init__("no colouring")
        self.groups = groups
        self.proven = proven


def colour(cost: Floats, apart: csr_array, max_dead_ends: int) -> tuple[Ints, Ints]:
    """(g,) A cluster for each group, unlike its neighbours', and (g,) the part of the graph that each is in.

    cost (g, K) says what a group costs in each cluster; apart (g, g) has an entry for each two that cannot be together.

    >>> path = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> colour(np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]), path, max_dead_ends=0)[0].tolist()
    [0, 1, 0]
    """
    n_parts, part = connected_components(apart, directed=False)
    labels = cost.argmin(axis=1)
    size = np.bincount(part, minlength=n_parts)
    order = np.argsort(part, kind="stable")
    for groups in np.split(order, np.cumsum(size)[:-1]):
        if len(groups) > 1:
            labels[groups] = _colour_part(cost[groups], csr_array(apart[groups][:, groups]), groups, max_dead_ends)
    return labels, part.astype(np.int64)


def _colour_part(cost: Floats, apart: csr_array, groups: Ints, max_dead_ends: int) -> Ints:
    g, K = cost.shape
    blocked = np.zeros((g, K), dtype=np.int64)  # by how many neighbours
    labels = np.full(g, -1)
    in_cluster = np.zeros(K, dtype=np.int64)
    twice = np.partition(cost, min(1, K - 1), axis=1)[:, : min(2, K)]
    regret = twice[:, -1] - twice[:, 0]  # what the second best costs more: of equals, who loses most goes first
    regret = regret / max(2 * float(regret.max()), np.finfo(np.float64).tiny)  # below 1

    left = K - regret  # the number of clusters left, less the regret
    trail: list[tuple[int, list[int]]] = []  # groups that are placed, and the clusters still to try for each
    dead_ends = 0

    def choices(group: int) -> list[int]:
        by_cost = np.argsort(cost[group], kind="stable")
        by_cost = by_cost[blocked[group, by_cost] == 0]
        used = in_cluster[by_cost] > 0
        first_unused = ~used & (np.cumsum(~used) == 1)
        return [int(cluster) for cluster in by_cost[used | first_unused]]

    def place(group: int, cluster: int, by: int) -> None:
        """Into a cluster (by = 1) or out of it again (by = -1)."""
        near = apart.indices[apart.indptr[group] : apart.indptr[group + 1]]
        blocked[near, cluster] += by
        left[near[blocked[near, cluster] == (by > 0)]] -= by  # the first to block it, or the last
        in_cluster[cluster] += by
        labels[group] = cluster
        left[group] += by * 2 * K  # who is placed is looked at last

    while len(trail) < g:
        group = int(left.argmin())
        options = choices(group)
        while not options:
            dead_ends += 1
            if not trail:
                raise NoColouring(groups, proven=True)
            if dead_ends > max_dead_ends:
                return _recolour(cost, apart, groups, max_dead_ends)
            group, options = trail.pop()
            place(group, int(labels[group]), -1)
        place(group, options[0], +1)
        trail.append((group, options[1:]))
    return labels


def _recolour(cost: Floats, apart: csr_array, groups: Ints, max_moves: int) -> Ints:
    """(g,) Clusters from which moves of groups in conflict have led to no conflict."""
    g, K = cost.shape
    random = np.random.default_rng(0)
    labels: Ints = cost.argmin(axis=1)
    near = np.asarray(apart @ np.eye(K)[labels])  # (g, K) how many neighbours are in each cluster
    tabu = np.zeros((g, K), dtype=np.int64)  # until which move
    everyone = np.arange(g)
    for move in range(max_moves):
        broken = np.flatnonzero(near[everyone, labels] > 0)
        if not len(broken):
            return labels
        change = near[broken] - near[broken, labels[broken]][:, None]
        change[np.arange(len(broken)), labels[broken]] = np.inf
        change[tabu[broken] > move] = np.inf
        place = int((change + random.random(change.shape) / 2).argmin())  # one of the best
        group, cluster = int(broken[place // K]), place % K
        old = int(labels[group])
        tabu[group, old] = move + int(random.integers(10)) + int(TENURE * len(broken))
        neighbours = apart.indices[apart.indptr[group] : apart.indptr[group + 1]]
        near[neighbours, old] -= 1
        near[neighbours, cluster] += 1
        labels[group] = cluster
    raise NoColouring(groups, proven=False)
