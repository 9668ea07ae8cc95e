"""Which items answers couple: distinct pairs, the components that they make, and the small ones among these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.closure import components
from likewise.pairs.enumeration import MOST_ITEMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Batch(NamedTuple):
    """Small components of one size, to be enumerated together."""

    items: Ints  # (M, s)
    edges: Ints  # the couplings in these components
    row: Ints  # of each of these couplings, its component
    pair: Ints  # and which pair of the component's items it is about

    def log_odds(self, log_odds: Floats) -> Floats:
        """(M, pairs) Of all pairs of items; 0 where nothing couples them."""
        s = self.items.shape[1]
        table = np.zeros((len(self.items), s * (s - 1) // 2))
        table[self.row, self.pair] = log_odds[self.edges]
        return table


class Couplings:
    """Distinct pairs (i, j) of n items."""

    def __init__(self, i: Ints, j: Ints, n: int) -> None:
        self.i, self.j, self.n = i, j, n
        self.component, self.n_components = components(i, j, n)
        self.size = np.bincount(self.component, minlength=self.n_components)
        self.n_edges = np.bincount(self.component[i], minlength=self.n_components)
        self.tree = self.n_edges < self.size
        self.small = self.size <= MOST_ITEMS
        order = np.argsort(self.component, kind="stable")
        starts = np.cumsum(self.size) - self.size
        self.ordered, self.starts = order, starts
        self.place = np.empty(n, dtype=np.int64)  # of each item within its component
        self.place[order] = np.arange(n) - starts[self.component[order]]

    def edges_in(self, which: NDArray[np.bool_]) -> Ints:
        """The couplings inside components of a mask."""
        return np.flatnonzero(which[self.component[self.i]])

    def batches(self, which: NDArray[np.bool_]) -> list[Batch]:
        """The small components of a mask, those of one size together."""
        edges = self.edges_in(which & self.small)
        size_of_edge = self.size[self.component[self.i[edges]]]
        made = []
        for size in range(2, MOST_ITEMS + 1):
            chosen = np.flatnonzero(which & (self.size == size))
            if not len(chosen):
                continue
            items = self.ordered[self.starts[chosen, None] + np.arange(size)]
            inside = edges[size_of_edge == size]
            row = np.searchsorted(chosen, self.component[self.i[inside]])
            made.append(Batch(items, inside, row, self.pair(self.i[inside], self.j[inside])))
        return made

    def pair(self, i: Ints, j: Ints) -> Ints:
        """The number of each pair within its component, in the order of triu_indices."""
        a, b = self.place[i], self.place[j]
        a, b = np.minimum(a, b), np.maximum(a, b)
        s = self.size[self.component[i]]
        return np.asarray(a * (2 * s - a - 1) // 2 + b - a - 1)
