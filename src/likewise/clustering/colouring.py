"""Groups into clusters so that no cannot-link is broken: graph colouring, the cheap colours first, with backtracking.

The group with the fewest clusters left goes next (Brélaz's rule, 1979), to the cluster where it costs least. Where one
has none left the last choice is undone, and the next best tried. Clusters that nobody is in yet are all alike to the
cannot-links, so that of these only the cheapest is tried: one group more than clusters, all different, are found out in
as many steps. Parts of the graph that no cannot-link connects are solved apart.

After too many dead ends all groups are placed at once, and those in conflict moved so that the fewest cannot-links are
broken, but not back where they were (tabu search; Hertz and de Werra 1987). That finds more, and proves nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from likewise.clustering.constraints import Floats, Ints

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
