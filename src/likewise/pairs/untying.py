"""The best grouping by integer programming, for contradictions that hang together in one small knot.

With x_e = 1 for an edge that is dropped, and c_e what that loses:

    minimise sum_e c_e x_e   such that   sum_{e in C} x_e >= 1   for every contradiction C

There are too many contradictions to list. We begin with none and add those that the solution so far leaves: the chains
of "same" whose x, with that of the "different" they deny, sum to less than 1, which are found as shortest paths. First
x may be any fraction, which is quick; what is then still broken is solved in whole numbers. We give up by counts and
never by a clock, so that the same answers always have the same grouping.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from likewise.pairs.closure import components
from likewise.pairs.keys import keys

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SMALL = 1e-6
MOST_CONTRADICTIONS = 2000  # in a program in fractions, which takes about 0.1 s with so many
MOST_IN_WHOLE_NUMBERS = 600  # likewise in whole numbers, which takes from 0.1 to 5 s; with 1000 it may take minutes
NODES = 100  # of the search for a solution in whole numbers
WORK = 150_000  # for all programs of a repair: 10 to 20 s


def untie(i: Ints, j: Ints, net: Floats, n: int, work: int = WORK) -> tuple[Ints | None, int]:
    """The group of each of n items in the best grouping, or None where it is out of reach; and the work that is left.

    Edges (i, j), each once, speak for "same" by `net`, or for "different" where it is below zero.

    >>> untie(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([3.0, 1.0, -2.0]), n=4)[0]
    array([0, 0, 1, 2])
    """
    cost = np.abs(net) / np.abs(net).max(initial=SMALL)
    dropped, whole = np.zeros(len(net)), False
    contradictions: list[Ints] = []
    while True:
        found = _contradictions(i, j, net > 0, dropped, n)
        if not found:
            if np.abs(dropped - dropped.round()).max(initial=0) < SMALL:
                kept = (net > 0) & (dropped < 0.5)
                return components(i[kept], j[kept], n)[0], work
            whole = True
        contradictions += found
        rows = len(contradictions)
        work -= rows**2 // 10 if whole else rows  # as long as each takes
        if work < 0 or rows > (MOST_IN_WHOLE_NUMBERS if whole else MOST_CONTRADICTIONS):
            return None, work
        solution = _cover(contradictions, cost, whole)
        if solution is None:
            return None, work
        dropped = solution


def _contradictions(i: Ints, j: Ints, together: NDArray[np.bool_], dropped: Floats, n: int) -> list[Ints]:
    """For each "different" edge the chain that is dropped the least, where that is not enough: the edges of both."""
    ends = (np.concatenate([i[together], j[together]]), np.concatenate([j[together], i[together]]))
    lengths = np.tile(dropped[together] + SMALL / n, 2)  # of equally dropped chains, one with few links
    graph = coo_array((lengths, ends), shape=(n, n)).tocsr()
    apart = np.flatnonzero(~together & (dropped < 1 - SMALL))
    sources, source = np.unique(i[apart], return_inverse=True)
    length, before = dijkstra(graph, indices=sources, limit=1, return_predecessors=True)  # (sources, n) each
    broken = length[source, j[apart]] + dropped[apart] < 1 - 2 * SMALL

    order = np.argsort(keys(i, j, n))
    names = keys(i, j, n)[order]
    found = []
    for edge, row in zip(apart[broken].tolist(), source[broken].tolist(), strict=True):
        chain = [int(j[edge])]
        while chain[-1] != i[edge]:
            chain.append(int(before[row, chain[-1]]))
        items = np.array(chain)
        links = order[np.searchsorted(names, keys(items[:-1], items[1:], n))]
        found.append(np.append(links, edge))
    return found


def _cover(contradictions: list[Ints], cost: Floats, whole: bool) -> Floats | None:
    """How much of each edge to drop so that every contradiction loses one, at the least cost; None: too many nodes."""
    sizes = [len(contradiction) for contradiction in contradictions]
    entries = (np.ones(sum(sizes)), np.concatenate(contradictions), np.concatenate([[0], np.cumsum(sizes)]))
    every = csr_array(entries, shape=(len(sizes), len(cost)))
    solution = milp(
        cost,
        integrality=np.full(len(cost), int(whole)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(every, lb=1),
        options={"mip_rel_gap": 0, "node_limit": NODES},
    )
    if solution.status != 0:
        return None
    return np.asarray(solution.x.round() if whole else solution.x.clip(0, 1), dtype=np.float64)
