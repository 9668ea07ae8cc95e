"""The most credible consistent answers.

Answers are consistent when some grouping of the items agrees with them all: "same" within groups, "different" between
them. So the consistent answers of the greatest total credibility, weight * |2 same - 1|, are those that agree with the
grouping that disagrees with the least. Contradictions that share no component are solved apart: each knot of them
exactly where it is small enough, and otherwise well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.closure import components, same_and_different
from likewise.pairs.correlation_clustering import WORK, group_exactly, group_greedily
from likewise.pairs.keys import is_sparse, keys, pairs_of

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Ints = NDArray[np.int64]

EXACT_EDGES = 2000  # the most answered pairs of a knot that is solved exactly
AT_ONCE = 1000  # edges of which one round takes as long as of none
LOOKS = 40_000_000  # at edges of all larger knots together: about 20 seconds. A count, so the result is always the same


class Repair(NamedTuple):
    """What was kept, what was dropped, and whether nothing better exists; False: the problem was too large to know.

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
        there, place = np.unique(np.concatenate([part.i, part.j]), return_inverse=True)
        i, j = place[: len(part.i)], place[len(part.i) :]
        best = None
        if len(i) <= EXACT_EDGES and work > 0:
            best, work = group_exactly(i, j, part.net, len(there), work)
        if best is None and len(portion) > 1:
            portions += [[knot_alone] for knot_alone in portion]
            continue
        if best is None:
            rounds = max(LOOKS * len(i) // len(edges.i) // (len(i) + AT_ONCE), 1)
            exact, best = False, group_greedily(i, j, part.net, len(there), rounds)
        group[there] = group.max() + 1 + best
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
    pair, place = np.unique(keys(pairs.left[rows], pairs.right[rows], n), return_inverse=True)
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
