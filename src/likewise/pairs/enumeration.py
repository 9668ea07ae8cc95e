"""Which items answers couple, and exact posteriors of the small components, over all groupings or labellings of items.

    P(grouping) ~ K! / (K - blocks)! * exp(sum of log_odds_ij over the pairs that it puts together)
    P(z)        ~ product of u_i(z_i) * exp(sum of log_odds_ij over the pairs with z_i = z_j)

Eight items have 4,140 groupings, which are listed. They have K^8 labellings, which are not: the labels are added one
at a time, each with the set of items that has it, in K 3^n steps.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from likewise.pairs.closure import components

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
        batches = []
        for size in range(2, MOST_ITEMS + 1):
            chosen = np.flatnonzero(which & (self.size == size))
            if not len(chosen):
                continue
            items = self.ordered[self.starts[chosen, None] + np.arange(size)]
            inside = edges[size_of_edge == size]
            row = np.searchsorted(chosen, self.component[self.i[inside]])
            batches.append(Batch(items, inside, row, self.pair(self.i[inside], self.j[inside])))
        return batches

    def pair(self, i: Ints, j: Ints) -> Ints:
        """The number of each pair within its component, in the order of triu_indices."""
        a, b = self.place[i], self.place[j]
        a, b = np.minimum(a, b), np.maximum(a, b)
        s = self.size[self.component[i]]
        return np.asarray(a * (2 * s - a - 1) // 2 + b - a - 1)


MOST_ITEMS = 8
AT_ONCE = 4_000_000  # numbers in a table


class Partitions(NamedTuple):
    """All groupings of n items."""

    n_blocks: Ints  # (B,)
    together: Floats  # (pairs, B) 1 where a grouping puts a pair together; the pairs in the order of triu_indices


class Subsets(NamedTuple):
    """All subsets of n items, by their bits, and for each of these all ways to divide it into two."""

    members: Floats  # (2^n, n) 1 for the items of a subset
    within: Floats  # (2^n, pairs) 1 for the pairs of a subset
    subset: Ints  # (3^n,) one part of a division
    rest: Ints  # (3^n,) the other
    starts: Ints  # (2^n,) where the divisions of each subset begin


def groupings(log_odds: Floats, n: int, n_classes: int) -> Floats:
    """The probability that each pair is the same, (M, pairs), for M components of n items with these log-odds.

    >>> groupings(np.log([[3.0]]), n=2, n_classes=4)  # 3 times the prior odds, which are 1 to 3
    array([[0.5]])
    """
    n_blocks, together = partitions(n)
    possible = n_blocks <= n_classes
    together = together[:, possible]
    prior = gammaln(n_classes + 1) - gammaln(n_classes - n_blocks[possible] + 1)
    same = np.empty_like(log_odds)
    step = max(AT_ONCE // together.shape[1], 1)
    for start in range(0, len(log_odds), step):
        rows = slice(start, start + step)
        same[rows] = softmax(prior + log_odds[rows] @ together, axis=1) @ together.T
    return same.clip(0, 1)


def labellings(log_odds: Floats, unary: Floats) -> tuple[Floats, Floats]:
    """The probability that each pair is the same, (M, pairs), and of the class of each item, as `unary`.

    `unary` (M, n, K + 1) holds log-probabilities; its last column is that of an item outside all classes, which is the
    same as no other.
    """
    n, n_columns = unary.shape[1:]
    subsets = subsets_of(n)
    same, classes = np.empty_like(log_odds), np.empty_like(unary)
    step = max(AT_ONCE // max(len(subsets.subset), n_columns * len(subsets.members)), 1)
    for start in range(0, len(log_odds), step):
        rows = slice(start, start + step)
        same[rows], classes[rows] = _labellings(log_odds[rows], unary[rows], subsets)
    return same, classes


def _labellings(log_odds: Floats, unary: Floats, subsets: Subsets) -> tuple[Floats, Floats]:
    n_classes, members = unary.shape[2] - 1, subsets.members
    floor = np.maximum(unary, -1e6)  # log 0 times no member is 0 and not NaN
    outside = floor[:, :, -1] @ members.T  # (M, 2^n) that these items, and no others, are outside
    own = np.stack([floor[:, :, k] @ members.T + log_odds @ subsets.within.T for k in range(n_classes)])  # (K, M, 2^n)
    before = np.empty_like(own)  # of the subset that has the labels before k, or is outside
    after = np.full((n_classes + 1, *outside.shape), -np.inf)  # of the subset that has the labels from k
    after[-1, :, 0] = 0.0
    for k in range(n_classes - 1, -1, -1):
        after[k] = _divide(own[k], after[k + 1], subsets)
    reached = outside
    for k in range(n_classes):
        before[k] = reached
        reached = _divide(own[k], reached, subsets)
    total = reached[:, -1:]  # (M, 1) over all labellings

    same, classes = np.zeros_like(log_odds), np.empty_like(unary)
    for k in range(n_classes):
        others = _divide(before[k], after[k + 1], subsets)[:, ::-1]  # of the complement of each subset
        share = np.exp(own[k] + others - total)  # (M, 2^n) that just this subset has label k
        same += share @ subsets.within
        classes[:, :, k] = share @ members
    classes[:, :, -1] = np.exp(outside + after[0][:, ::-1] - total) @ members
    return same.clip(0, 1), classes.clip(0, 1)


def _divide(a: Floats, b: Floats, subsets: Subsets) -> Floats:
    """(M, 2^n) For each subset the log of the sum of a(part) b(rest) over all ways to divide it."""
    terms = a[:, subsets.subset] + b[:, subsets.rest]  # (M, 3^n)
    most = np.maximum(np.maximum.reduceat(terms, subsets.starts, axis=1), -1e300)
    sizes = np.diff(subsets.starts, append=len(subsets.subset))
    np.exp(terms - np.repeat(most, sizes, axis=1), out=terms)
    with np.errstate(divide="ignore"):
        return np.asarray(most + np.log(np.add.reduceat(terms, subsets.starts, axis=1)))


@lru_cache
def partitions(n: int) -> Partitions:
    """All groupings of n items: the block of each item is one of those before it, or the next.

    >>> [len(partitions(n).n_blocks) for n in range(1, 9)]
    [1, 2, 5, 15, 52, 203, 877, 4140]
    """
    block = np.zeros((1, 1), dtype=np.int64)  # (B, items so far)
    for _ in range(n - 1):
        n_next = block.max(axis=1) + 2
        row = np.repeat(np.arange(len(block)), n_next)
        choice = np.arange(len(row)) - np.repeat(np.cumsum(n_next) - n_next, n_next)
        block = np.column_stack([block[row], choice])
    left, right = np.triu_indices(n, 1)
    return Partitions(block.max(axis=1) + 1, (block[:, left] == block[:, right]).T.astype(np.float64))


@lru_cache
def subsets_of(n: int) -> Subsets:
    """All subsets of n items; the complement of subset s has number 2^n - 1 - s."""
    every = np.arange(2**n)
    members = (every[:, None] >> np.arange(n) & 1).astype(np.float64)
    left, right = np.triu_indices(n, 1)
    superset, subset = np.nonzero((every[:, None] & every) == every)  # part is within whole
    return Subsets(
        members=members,
        within=members[:, left] * members[:, right],
        subset=subset,
        rest=superset - subset,
        starts=np.searchsorted(superset, every),
    )
