"""Contradictions: an answer "different", and the shortest chain of answers "same" that denies it; and their repair.

Answers are consistent when some grouping of the items agrees with them all: "same" within groups, "different" between
them. So the consistent answers of the greatest total credibility, weight * |2 same - 1|, are those that agree with the
grouping that disagrees with the least. Contradictions that share no component are solved apart: each knot of them
exactly where it is small enough, and otherwise well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from likewise.pairs.closure import components, same_and_different
from likewise.pairs.correlation_clustering import WORK, group_exactly, group_greedily
from likewise.pairs.pair_keys import distinct, is_sparse, pair_keys, pairs_of

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


# The shortest chain of "same" answers between two items.

Ints = NDArray[np.int64]

MEETING = 6000  # a search from both ends takes as long as SciPy's search of a graph of so many items and links
LEVELS = 1000  # and is abandoned after so many, because it is slow where a level has few items


class Chains:
    """The graph of "same" answers, to be searched breadth first.

    >>> chains = Chains(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), n=5)
    >>> chains.between(1, [3])
    [[1, 0, 3]]
    """

    def __init__(self, left: Ints, right: Ints, n: int) -> None:
        others = left != right
        i, j = pairs_of(distinct(pair_keys(left[others], right[others], n)), n)
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        graph = coo_array((np.ones(2 * len(i), dtype=np.bool_), both), shape=(n, n)).tocsr()
        graph.sort_indices()
        self.starts, self.neighbours, self.n = graph.indptr, graph.indices, n
        self.before = np.full((2, n), -1, dtype=np.int64)  # for the two ends of a search: the item before each

    def between(self, source: int, targets: Sequence[int]) -> list[list[int]]:
        """The items of a shortest chain from the source to each target; there must be one."""
        if len(targets) * MEETING < self.n + len(self.neighbours):
            chains = []
            for target in targets:
                chain = self._meet(source, target)
                if chain is None:
                    break
                chains.append(chain)
            else:
                return chains
        _, before = breadth_first_order(self._graph, source, return_predecessors=True)
        return [_back(target, source, before) for target in targets]

    def _meet(self, source: int, target: int) -> list[int] | None:
        """Search from both ends, each time one level on the side with less work, until they meet; None: too far."""
        levels = [[np.array([source])], [np.array([target])]]
        self.before[0, source], self.before[1, target] = source, target
        met, chain = levels[0][0][self.before[1, [source]] >= 0], None
        while not len(met) and len(levels[0]) + len(levels[1]) < LEVELS:
            side = int(self._n_links(levels[0][-1]) > self._n_links(levels[1][-1]))
            levels[side].append(self._next_level(levels[side][-1], self.before[side]))
            # The first meeting is on a shortest chain: with a shorter one they would have met at an earlier level.
            met = levels[side][-1][self.before[1 - side, levels[side][-1]] >= 0]
        if len(met):
            to, back = (_back(int(met[0]), end, self.before[side]) for side, end in enumerate((source, target)))
            chain = to + back[-2::-1]
        for side in (0, 1):
            self.before[side, np.concatenate(levels[side])] = -1  # as it was
        return chain

    def _next_level(self, level: Ints, before: Ints) -> Ints:
        """The items that are linked to those of a level and were not reached before."""
        starts = self.starts[level].astype(np.int64)
        counts = self.starts[level + 1] - starts
        item = np.repeat(level, counts)
        link = np.arange(len(item)) + np.repeat(starts - np.cumsum(counts) + counts, counts)
        neighbour = self.neighbours[link]
        new = before[neighbour] < 0
        item, neighbour = item[new], neighbour[new]
        before[neighbour[::-1]] = item[::-1]  # of several the first: it is written last
        return np.asarray(neighbour[before[neighbour] == item], dtype=np.int64)

    def _n_links(self, level: Ints) -> int:
        return int((self.starts[level + 1] - self.starts[level]).sum())

    @cached_property
    def _graph(self) -> csr_array:
        entries = (np.ones(len(self.neighbours)), self.neighbours, self.starts)  # float64, or scipy copies every time
        return csr_array(entries, shape=(self.n, self.n))


def _back(item: int, source: int, before: dict[int, int] | NDArray[np.int32]) -> list[int]:
    """The chain from the source to an item."""
    chain = [item]
    while chain[-1] != source:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right; without any one of them, the others can.

    >>> print(Contradiction(items=("a", "b", "c"), rows=(2, 7, 15), lines=(4, 9, 17), unit="line"))
    a=b, b=c, but a!=c; lines 4, 9, 17
    """

    items: tuple[str, ...]  # along the chain
    rows: tuple[int, ...]  # of the "same" answers along the chain, and at the end of the "different" answer
    lines: tuple[int, ...]  # of these rows in the file
    unit: str = "row"

    def __str__(self) -> str:
        return self.text()

    def text(self, most_links: int | None = None) -> str:
        """In one line, the middle of a longer chain left out."""
        links = [f"{left}={right}" for left, right in pairwise(self.items)]
        lines = [str(line) for line in self.lines]
        if most_links is not None and len(links) > most_links:
            some = slice(most_links // 2, len(links) - (most_links - most_links // 2))
            links[some], lines[some] = [f"... {some.stop - some.start:,} more ..."], ["..."]
        broken = f"{self.items[0]}!={self.items[-1]}"
        where = f"{self.unit}{'s' if len(lines) > 1 else ''} {', '.join(lines)}"
        return f"{', '.join(links)}, but {broken}; {where}" if links else f"{broken}; {where}"


def find_contradictions(pairs: Pairs, limit: int | None = None) -> list[Contradiction]:
    """One for each "different" answer between two items of one component, in the order of the answers."""
    closure = pairs.closure()
    said_same, said_different = same_and_different(pairs)
    inside = said_different & (closure.component[pairs.left] == closure.component[pairs.right])
    broken = np.flatnonzero(inside)[:limit]
    if not len(broken):
        return []

    contradicted = np.zeros(closure.n_components, dtype=np.bool_)
    contradicted[closure.component[pairs.left[broken]]] = True
    rows = np.flatnonzero(said_same & contradicted[closure.component[pairs.left]])  # the others are in no chain
    left, right, n = pairs.left[rows], pairs.right[rows], pairs.n_items
    chains = _chains(Chains(left, right, n), pairs.left[broken], pairs.right[broken])
    links, first = np.unique(pair_keys(left, right, n), return_index=True)
    first_row = rows[first]  # that answers "same" for each link

    contradictions = []
    for row, chain in zip(broken.tolist(), chains, strict=True):
        items = np.array(chain)
        proof = np.append(first_row[np.searchsorted(links, pair_keys(items[:-1], items[1:], n))], row)
        names = tuple(pairs.name(item) for item in chain)
        lines = tuple(pairs.lines[proof].tolist())
        contradictions.append(Contradiction(names, tuple(proof.tolist()), lines, pairs.source.unit))
    return contradictions


def _chains(graph: Chains, left: Ints, right: Ints) -> list[list[int]]:
    """A chain for each pair; those with the same left item are searched for together."""
    order = np.argsort(left, kind="stable")
    sources, starts = np.unique(left[order], return_index=True)
    chains: list[list[int]] = [[]] * len(left)
    for source, group in zip(sources.tolist(), np.split(order, starts[1:]), strict=True):
        for place, chain in zip(group.tolist(), graph.between(source, right[group].tolist()), strict=True):
            chains[place] = chain
    return chains


EXACT_EDGES = 2000  # the most answered pairs of a knot that is solved exactly
AT_ONCE = 1000  # edges of which one round takes as long as of none
LOOKS = 40_000_000  # at edges of all larger knots together: about 20 seconds. A count, so the result is always the same


class Repair(NamedTuple):
    """The answers kept and dropped, and whether that is optimal; False: the problem was too large to tell.

    >>> from likewise.pairs import Pairs
    >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "c")], [1, 1, 0], weight=[3, 2, 1])
    >>> repair = pairs.repair()
    >>> len(repair.kept), len(repair.dropped), repair.exact
    (2, 1, True)
    """

    kept: Pairs
    dropped: Pairs
    exact: bool


class Edges(NamedTuple):
    """Pairs of items, each once, and how much more credible it is that they are the same than that they are not."""

    i: Ints
    j: Ints
    net: NDArray[np.float64]

    def select(self, rows: NDArray[np.bool_] | Ints) -> Edges:
        return Edges(self.i[rows], self.j[rows], self.net[rows])


def repair(pairs: Pairs) -> Repair:
    """The consistent answers of the greatest total credibility; all of them, where there is no contradiction."""
    said_same, said_different = same_and_different(pairs)
    about = pairs.compact() if is_sparse(pairs.n_items, len(pairs)) else pairs
    group, exact = _grouping(about)
    apart = group[about.left] != group[about.right]
    dropped = (said_same & apart) | (said_different & ~apart)
    return Repair(pairs.select(~dropped), pairs.select(dropped), exact)


def _grouping(pairs: Pairs) -> tuple[Ints, bool]:
    """The group of each item in the best grouping, and whether it is known to be the best."""
    edges, group = _disputed(pairs)
    together = edges.net > 0
    knot, n_knots = components(edges.i[together], edges.j[together], pairs.n_items)
    group = np.where(group < 0, group.max(initial=-1) + 1 + knot, group)
    inside = knot[edges.i] == knot[edges.j]
    tied = np.zeros(n_knots, dtype=np.bool_)
    tied[knot[edges.i[inside & ~together]]] = True
    edges = edges.select(inside & tied[knot[edges.i]])

    exact, work, portions = True, WORK, _portions(knot[edges.i])
    for portion in portions:
        part = edges.select(np.concatenate(portion))
        items, place = np.unique(np.concatenate([part.i, part.j]), return_inverse=True)
        i, j = place[: len(part.i)], place[len(part.i) :]
        best = None
        if len(i) <= EXACT_EDGES and work > 0:
            best, work = group_exactly(i, j, part.net, len(items), work)
        if best is None and len(portion) > 1:
            portions += [[knot_alone] for knot_alone in portion]
            continue
        if best is None:
            rounds = max(LOOKS * len(i) // len(edges.i) // (len(i) + AT_ONCE), 1)
            exact, best = False, group_greedily(i, j, part.net, len(items), rounds)
        group[items] = group.max() + 1 + best
    return group, exact


def _disputed(pairs: Pairs) -> tuple[Edges, Ints]:
    """The answers inside components that have contradictions, and the component of each item, -1 for one of these.

    Answers about one pair are taken together: the weaker side of them is lost in any case.
    """
    said_same, said_different = same_and_different(pairs)
    component, n = pairs.closure().component, pairs.n_items
    inside = component[pairs.left] == component[pairs.right]
    contradicted = np.zeros(pairs.closure().n_components, dtype=np.bool_)
    contradicted[component[pairs.left[said_different & inside]]] = True
    rows = (said_same | said_different) & inside & contradicted[component[pairs.left]] & (pairs.left != pairs.right)

    signed = pairs.weight[rows] * (2 * pairs.same[rows].astype(np.float64) - 1)
    pair, place = np.unique(pair_keys(pairs.left[rows], pairs.right[rows], n), return_inverse=True)
    net = np.bincount(place, signed, minlength=len(pair)).astype(np.float64)
    return Edges(*pairs_of(pair, n), net).select(net != 0), np.where(contradicted[component], -1, component)


def _portions(knot: Ints) -> list[list[Ints]]:
    """The edges of each knot; small knots together, as every program takes some time to set up."""
    if not len(knot):
        return []
    order = np.argsort(knot, kind="stable")
    portions: list[list[Ints]] = []
    size = EXACT_EDGES
    for part in np.split(order, np.flatnonzero(np.diff(knot[order])) + 1):
        size += len(part)
        if size > EXACT_EDGES:
            portions.append([])
            size = len(part)
        portions[-1].append(part)
    return portions
