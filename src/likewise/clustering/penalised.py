"""Penalised k-means: where it begins, and the assignment step that moves items to the cluster where they cost least.

    J = sum_i base_{i, l_i} - sum_{i < j, l_i = l_j = h} pull_h(i, j)
    cost_ih = what item i pays in cluster h while all others stay = base_ih - sum over j in h of pull_h(i, j)

`base` is the part that does not depend on the labels of others. A move of j changes nothing but what its neighbours pay
in the cluster it left and in the one it joined, so `cost` is kept true at the price of j's links. Every move lowers J,
so it ends: iterated conditional modes (Besag 1986), as PCK-means and MPCK-means use them. Items that must-links hold
together would never leave a wrong cluster one by one, so blocks of them move too, by

    change of J = sum_{i in block} (cost_ih - cost_ia) - sum_{i < j in block} (pull_h(i, j) + pull_a(i, j)),

from a to h: its pairs are counted twice in cost_ia, and not at all in cost_ih.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.constraints import Constraints, Floats, Ints
from likewise.clustering.k_means import nearest
from likewise.pairs.correlation_clustering import group_greedily

# Where penalised k-means begins: at the centres of neighbourhoods, the items that must-links hold together.
#
# Basu, Banerjee and Mooney, Semi-supervised clustering by seeding, ICML 2002; the choice among many neighbourhoods is
# that of Bilenko, Basu and Mooney, ICML 2004: the largest first, then those that are large and far from the chosen.

ROUNDS = 10  # of grouping what contradicting answers are about; a good grouping will do, the best is not needed


def neighbourhoods(constraints: Constraints) -> Ints:
    """(n,) The neighbourhood of each item: its component, unless the answers contradict one another.

    One wrong must-link joins two classes; then the items are grouped so that little credibility is lost instead.
    """
    i, j = constraints.cannot_link.T
    if not (constraints.component[i] == constraints.component[j]).any():
        return constraints.component
    ends = np.concatenate([constraints.must_link, constraints.cannot_link])
    credit = np.concatenate([constraints.must_weight, -constraints.cannot_weight])
    return group_greedily(ends[:, 0], ends[:, 1], credit, constraints.n_items, ROUNDS)


def starts(
    items: Floats, group: Ints, n_clusters: int, number: int, random: np.random.RandomState
) -> Iterator[tuple[Ints, Floats]]:
    """Initial labels (n,) and centres (K, d), once for each start.

    First, an item begins with its neighbourhood if that was chosen, else at the nearest centre. Where there are fewer
    neighbourhoods of two or more items than clusters, items far from all centres are drawn for the rest, with
    probabilities that grow with the squared distance; of some candidates that is taken which leaves the items nearest
    to their centres, as the greedy form of k-means++ does. The later starts are drawn so altogether.
    """
    size = np.bincount(group)
    centre = np.zeros((len(size), items.shape[1]))
    np.add.at(centre, group, items)
    centre /= size[:, None]
    among = np.flatnonzero(size > 1)
    chosen = among[_large_and_far(centre[among], size[among].astype(np.float64), n_clusters)]
    place = np.full(len(size), -1)
    place[chosen] = np.arange(len(chosen))

    centres = _draw(items, centre[chosen], n_clusters, random)
    yield np.where(place[group] >= 0, place[group], nearest(items, centres)), centres
    for _ in range(number - 1):
        centres = _draw(items, centre[:0], n_clusters, random)
        yield nearest(items, centres), centres


def _draw(items: Floats, centres: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """(K, d) The centres given, and items drawn for the rest."""
    n_candidates = 2 + int(np.log(n_clusters))
    while len(centres) < n_clusters:
        apart = _to_nearest(items, centres) if len(centres) else np.ones(len(items))
        total = apart.sum()
        chance = apart / total if total > 0 else np.full(len(items), 1 / len(items))
        candidates = items[random.choice(len(items), n_candidates, p=chance)]
        left = [np.minimum(apart, _to_nearest(items, candidate[None])).sum() for candidate in candidates]
        best = int(np.argmin(left)) if len(centres) else 0
        centres = np.concatenate([centres, candidates[best][None]])
    return centres


def _large_and_far(centre: Floats, size: Floats, most: int) -> Ints:
    """Farthest-first traversal of centres, their distances weighed by their sizes, from the largest on."""
    chosen: list[int] = []
    apart = np.ones(len(centre))
    while len(chosen) < min(most, len(centre)):
        value = size * apart
        value[chosen] = -1.0
        chosen.append(int(value.argmax()))
        apart = _to_nearest(centre, centre[chosen])
    return np.array(chosen, dtype=np.int64)


def _to_nearest(items: Floats, centres: Floats) -> Floats:
    """(n,) The squared distance to the nearest of the centres."""
    apart = (items**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * items @ centres.T
    return np.asarray(np.maximum(apart.min(axis=1), 0.0))


def linked_inside(constraints: Constraints, group: Ints) -> tuple[Ints, Floats]:
    """(m, 2) The linked pairs inside of neighbourhoods, and (m,) their s_ij."""
    ends = np.concatenate([constraints.must_link, constraints.cannot_link])
    credit = np.concatenate([constraints.must_weight, -constraints.cannot_weight])
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    return ends[inside], credit[inside]


LEAST = 1e-10  # of the costs: a smaller gain is rounding

Pull = Callable[[int, int, slice], Floats]  # (h, j, the entries of row j in `links`) -> pull_h(i, j) for each such i


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Items that belong together, and how they pull at one another."""

    group: Ints  # (n,)
    ends: Ints  # (m, 2) linked pairs inside of groups
    pull: Floats  # (m, K)


def reassign(cost: Floats, labels: Ints, links: csr_array, pull: Pull, together: Neighbourhoods | None = None) -> Ints:
    """(n,) Labels from which no move gains; `cost` (n, K), of the labels given, is kept true in place.

    A block is the part of a group that is in one cluster. Who gains most goes first, and looks again before moving.
    """
    labels = labels.copy()
    starts, neighbours = links.indptr, links.indices.astype(np.int64)
    alone = np.diff(starts) == 0
    labels[alone] = cost[alone].argmin(axis=1)
    least = LEAST * max(float(np.abs(cost).max()), np.finfo(np.float64).tiny)
    everyone = np.arange(len(cost))

    def move(j: int, new: int) -> None:
        entries = slice(starts[j], starts[j + 1])
        near, old = neighbours[entries], int(labels[j])
        labels[j] = new
        cost[near, old] += pull(old, j, entries)
        cost[near, new] -= pull(new, j, entries)

    def move_items() -> None:
        while True:
            gain = cost[everyone, labels] - cost.min(axis=1)
            movers = np.flatnonzero(gain > least)
            if not len(movers):
                return
            for j in movers[np.argsort(-gain[movers], kind="stable")].tolist():
                new = int(cost[j].argmin())
                if cost[j, labels[j]] - cost[j, new] > least:
                    move(j, new)

    def move_blocks(known: Neighbourhoods) -> bool:
        block, inner = _blocks(known, labels, cost.shape[1])
        order = np.argsort(block, kind="stable")
        first = np.flatnonzero(np.diff(block[order], prepend=-1))
        home = labels[order[first]]
        price = _prices(np.add.reduceat(cost[order], first, axis=0), inner, home)
        gain = price[np.arange(len(home)), home] - price.min(axis=1)
        moved = False
        for b in np.argsort(-gain, kind="stable")[: (gain > least).sum()].tolist():
            members = np.flatnonzero(block == b)
            now = _prices(cost[members].sum(axis=0)[None], inner[[b]], home[[b]])[0]
            new = int(now.argmin())
            if now[home[b]] - now[new] > least:
                moved = True
                for j in members.tolist():
                    move(j, new)
        return moved

    move_items()
    while together is not None and move_blocks(together):
        move_items()
    return labels


def _blocks(known: Neighbourhoods, labels: Ints, K: int) -> tuple[Ints, Floats]:
    """(n,) The block of each item, and (blocks, K) the sum of what its pairs pull, in each cluster."""
    block = np.unique(known.group * K + labels, return_inverse=True)[1]
    i, j = known.ends.T
    inside = labels[i] == labels[j]
    n_blocks = int(block.max()) + 1
    which = csr_array((np.ones(inside.sum()), (block[i[inside]], np.flatnonzero(inside))), (n_blocks, len(inside)))
    return block, np.asarray(which @ known.pull)


def _prices(cost: Floats, inner: Floats, home: Ints) -> Floats:
    """(blocks, K) What a block pays in each cluster, its own pairs counted once."""
    price = cost - inner
    price[np.arange(len(home)), home] += 2 * inner[np.arange(len(home)), home]
    return price


def means(items: Floats, labels: Ints, centres: Floats) -> Floats:
    """(K, d) The mean of each cluster; one without items stays where it was."""
    together = np.eye(len(centres))[labels]  # (n, K)
    size = together.sum(axis=0)
    return np.where(size[:, None] > 0, together.T @ items / np.maximum(size, 1)[:, None], centres)
