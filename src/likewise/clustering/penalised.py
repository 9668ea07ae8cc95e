"""The assignment step of penalised k-means: items move, one at a time, to the cluster where they cost least.

    cost_ih = what item i pays in cluster h while all others stay
            = base_ih - sum over j in cluster h of pull_h(i, j)

`base` is the part that does not depend on the labels of others. A move of j changes nothing but what its neighbours pay
in the cluster it left and in the one it joined, so `cost` is kept true at the price of j's links. Every move lowers the
objective, so it ends: iterated conditional modes (Besag 1986), as PCK-means and MPCK-means use them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.constraints import Floats, Ints

LEAST = 1e-10  # of the costs: a smaller gain is rounding

Pull = Callable[[int, int, slice], Floats]  # (h, j, the entries of row j in `links`) -> pull_h(i, j) for each such i


def settle(cost: Floats, labels: Ints, links: csr_array, pull: Pull) -> Ints:
    """(n,) Labels from which no single move gains; `cost` (n, K), of the labels given, is kept true in place.

    Items without links move at once; of the others those that gain most go first, and each looks again before it moves.
    """
    labels = labels.copy()
    starts, neighbours = links.indptr, links.indices.astype(np.int64)
    alone = np.diff(starts) == 0
    labels[alone] = cost[alone].argmin(axis=1)
    least = LEAST * max(float(np.abs(cost).max()), np.finfo(np.float64).tiny)
    everyone = np.arange(len(cost))
    while True:
        gain = cost[everyone, labels] - cost.min(axis=1)
        movers = np.flatnonzero(gain > least)
        if not len(movers):
            return labels
        for j in movers[np.argsort(-gain[movers], kind="stable")].tolist():
            old, new = int(labels[j]), int(cost[j].argmin())
            if cost[j, old] - cost[j, new] <= least:
                continue
            labels[j] = new
            entries = slice(starts[j], starts[j + 1])
            near = neighbours[entries]
            cost[near, old] += pull(old, j, entries)
            cost[near, new] -= pull(new, j, entries)


def means(items: Floats, labels: Ints, centres: Floats) -> Floats:
    """(K, d) The mean of each cluster; one without items stays where it was."""
    together = np.eye(len(centres))[labels]  # (n, K)
    size = together.sum(axis=0)
    return np.where(size[:, None] > 0, together.T @ items / np.maximum(size, 1)[:, None], centres)
