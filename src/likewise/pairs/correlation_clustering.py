"""Correlation clustering: the groups that agree best with weighted answers, by local search or exactly.

How well two groups match is the credibility of "same" between them less that of "different". Two groups are joined that
are each other's best match and match above zero; an item moves to the group that it matches best. All that can be done
at once is done at once, with whole arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import dijkstra

from likewise.pairs.closure import components
from likewise.pairs.pair_keys import pair_keys, pairs_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

JOINING = 2  # rounds of moving that take as long as joining
SHAKES = 200
LOOSE = 0.4  # the share of the items that a shake sets free
LEAST = 1e-9  # of the largest credibility: a smaller gain is rounding


def group_greedily(i: Ints, j: Ints, net: Floats, n: int, rounds: int) -> Ints:
    """The group of each of n items in a good grouping, found in about so many rounds over all edges, or fewer.

    Edges (i, j), each once, count for "same" by `net`, or for "different" where it is below zero.

    >>> group_greedily(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([3.0, 1.0, -2.0]), n=4, rounds=9)
    array([0, 0, 1, 2])
    """
    random = np.random.default_rng(0)
    best = start = np.arange(n)
    least_lost = np.inf
    for _ in range(SHAKES):
        group, used = _local_search(i, j, net, start, random, rounds)
        lost = float(np.abs(net[(net > 0) == (group[i] != group[j])]).sum())
        if lost <= least_lost:
            best, least_lost = group, lost
        rounds -= used
        if rounds <= 0:
            break
        start = _numbered(np.where(random.random(n) < LOOSE, n + np.arange(n), best))
    return best


def _local_search(
    i: Ints, j: Ints, net: Floats, group: Ints, random: np.random.Generator, most_rounds: int
) -> tuple[Ints, int]:
    """Join and move in turns until neither helps, or the rounds are used up."""
    n, rounds = len(group), 0
    while True:
        group = join(*_between_groups(group[i], group[j], net, n), n, random)[group]
        rounds += JOINING
        group, moved = move(i, j, net, group, random, max(most_rounds - rounds, 0))
        rounds += moved
        if not moved or rounds >= most_rounds:
            return _numbered(group), rounds


def join(i: Ints, j: Ints, net: Floats, n: int, random: np.random.Generator) -> Ints:
    """Join mutual best matches until none is above zero."""
    group = np.arange(n)
    while (net > 0).any():
        good = net > 0
        left, right = i[good], j[good]
        rank = _ranks(net[good], random)  # without a random order of equals a long chain would take as many rounds
        best = np.full(n, -1, dtype=np.int64)
        np.maximum.at(best, left, rank)
        np.maximum.at(best, right, rank)
        mutual = (best[left] == rank) & (best[right] == rank)
        joined, n = components(left[mutual], right[mutual], n)
        group = joined[group]
        i, j, net = _between_groups(joined[i], joined[j], net, n)
    return group


def move(i: Ints, j: Ints, net: Floats, group: Ints, random: np.random.Generator, most_rounds: int) -> tuple[Ints, int]:
    """Move items to the groups that they match best, or to one of their own; no two at once that have an edge.

    Returns the groups and the number of rounds in which something moved.
    """
    n = len(group)
    least = LEAST * np.abs(net).max(initial=0)
    item, other, twice = np.concatenate([i, j]), np.concatenate([j, i]), np.tile(net, 2)
    for used in range(most_rounds):
        entry, place = np.unique(item * n + group[other], return_inverse=True)
        match = np.bincount(place, twice, minlength=len(entry))
        who, where = np.divmod(entry, n)
        own = np.zeros(n)
        at_home = where == group[who]
        own[who[at_home]] = match[at_home]

        order = np.lexsort((match, who))
        order = order[~at_home[order]]
        best, target = np.zeros(n), np.full(n, -1)
        better = order[match[order] > 0]
        best[who[better]], target[who[better]] = match[better], where[better]  # of several, the last and best stays
        gain = best - own
        moving = gain > least

        rank = _ranks(gain, random)
        rivals = moving[i] & moving[j]
        moving[np.where(rank[i[rivals]] < rank[j[rivals]], i[rivals], j[rivals])] = False
        if not moving.any():
            return group, used
        alone = moving & (target < 0)
        free = np.setdiff1d(np.arange(n), group)[: alone.sum()]  # there are as many, or nobody could leave company
        group = np.where(moving & ~alone, target, group)
        group[alone] = free
    return group, most_rounds


def _numbered(group: Ints) -> Ints:
    """Groups numbered from 0."""
    return np.unique(group, return_inverse=True)[1]


def _ranks(values: Floats, random: np.random.Generator) -> Ints:
    """The place of each value in their order, equal ones in random order."""
    rank = np.empty(len(values), dtype=np.int64)
    rank[np.lexsort((random.random(len(values)), values))] = np.arange(len(values))
    return rank


def _between_groups(i: Ints, j: Ints, net: Floats, n: int) -> tuple[Ints, Ints, Floats]:
    """The edges between groups, each once."""
    between = i != j
    pair, place = np.unique(pair_keys(i[between], j[between], n), return_inverse=True)
    i, j = pairs_of(pair, n)
    return i, j, np.bincount(place, net[between], minlength=len(pair)).astype(np.float64)


# The best grouping by integer programming, for contradictions that hang together in one small knot.
#
# With x_e = 1 for an edge that is dropped, and c_e what that loses:
#
#     minimise sum_e c_e x_e   such that   sum_{e in C} x_e >= 1   for every contradiction C
#
# There are too many contradictions to list. We begin with none and add those that the solution so far leaves: the
# chains of "same" whose x, with that of the "different" they deny, sum to less than 1, which are found as shortest
# paths. First x may be any fraction, which is quick; what is then still broken is solved in whole numbers. We give up
# by counts and never by a clock, so that the same answers always have the same grouping.


SMALL = 1e-6
MOST_CONTRADICTIONS = 2000  # in a program in fractions, which takes about 0.1 s with so many
MOST_IN_WHOLE_NUMBERS = 600  # likewise in whole numbers, which takes from 0.1 to 5 s; with 1000 it may take minutes
NODES = 100  # of the search for a solution in whole numbers
WORK = 150_000  # for all programs of a repair: 10 to 20 s


def group_exactly(i: Ints, j: Ints, net: Floats, n: int, work: int = WORK) -> tuple[Ints | None, int]:
    """The group of each of n items in the best grouping, or None where it is out of reach; and the work that is left.

    Edges (i, j), each once, count for "same" by `net`, or for "different" where it is below zero.

    >>> group_exactly(np.array([0, 1, 0]), np.array([1, 2, 2]), np.array([3.0, 1.0, -2.0]), n=4)[0]
    array([0, 0, 1, 2])
    """
    cost = np.abs(net) / np.abs(net).max(initial=SMALL)
    dropped, integral = np.zeros(len(net)), False
    contradictions: list[Ints] = []
    while True:
        more = _contradictions(i, j, net > 0, dropped, n)
        if not more:
            if np.abs(dropped - dropped.round()).max(initial=0) < SMALL:
                kept = (net > 0) & (dropped < 0.5)
                return components(i[kept], j[kept], n)[0], work
            integral = True
        contradictions += more
        rows = len(contradictions)
        work -= rows**2 // 10 if integral else rows  # as long as each takes
        if work < 0 or rows > (MOST_IN_WHOLE_NUMBERS if integral else MOST_CONTRADICTIONS):
            return None, work
        solution = _cover(contradictions, cost, integral)
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

    order = np.argsort(pair_keys(i, j, n))
    names = pair_keys(i, j, n)[order]
    contradictions = []
    for edge, row in zip(apart[broken].tolist(), source[broken].tolist(), strict=True):
        chain = [int(j[edge])]
        while chain[-1] != i[edge]:
            chain.append(int(before[row, chain[-1]]))
        items = np.array(chain)
        links = order[np.searchsorted(names, pair_keys(items[:-1], items[1:], n))]
        contradictions.append(np.append(links, edge))
    return contradictions


def _cover(contradictions: list[Ints], cost: Floats, integral: bool) -> Floats | None:
    """How much of each edge to drop so that every contradiction loses one, at the least cost; None: too many nodes."""
    sizes = [len(contradiction) for contradiction in contradictions]
    entries = (np.ones(sum(sizes)), np.concatenate(contradictions), np.concatenate([[0], np.cumsum(sizes)]))
    every = csr_array(entries, shape=(len(sizes), len(cost)))
    solution = milp(
        cost,
        integrality=np.full(len(cost), int(integral)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(every, lb=1),
        options={"mip_rel_gap": 0, "node_limit": NODES},
    )
    if solution.status != 0:
        return None
    return np.asarray(solution.x.round() if integral else solution.x.clip(0, 1), dtype=np.float64)
