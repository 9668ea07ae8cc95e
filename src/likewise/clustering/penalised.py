"""The assignment step of penalised k-means: items and blocks of items move to the cluster where they cost least.

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

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.constraints import Floats, Ints

LEAST = 1e-10  # of the costs: a smaller gain is rounding

Pull = Callable[[int, int, slice], Floats]  # (h, j, the entries of row j in `links`) -> pull_h(i, j) for each such i


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Items that belong together, and how they pull at one another."""

    group: Ints  # (n,)
    ends: Ints  # (m, 2) linked pairs inside of groups
    pull: Floats  # (m, K)


def settle(cost: Floats, labels: Ints, links: csr_array, pull: Pull, together: Neighbourhoods | None = None) -> Ints:
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
