"""The posterior over groupings where answers are all that is known.

The prior gives each item one of K labels, all as likely, so two items are the same with probability 1 / K, and items
that no chain of answers couples are independent. Where K is not given, it is estimated from how many of the pairs
asked about are the same. People ask more often about pairs that are alike, and then this K is too small to keep groups
apart; `needed` is what they need, for whoever compares the two.

Trees need no more than their own answers: without a loop no answer bears on another. Other components of up to eight
items are enumerated, larger ones sampled.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise.pairs.correlation_clustering import group_greedily
from likewise.pairs.enumeration import Couplings, groupings
from likewise.pairs.swendsen_wang import Chain, colouring

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SWEEPS = 4  # of the samples between two estimates of the rates
LAST_SWEEPS, KEPT = 150, 100  # at the end, and how many of these are kept as samples
LOOKS = 20_000_000  # at couplings by the last sweeps of large problems, but at least LEAST_SWEEPS
LEAST_SWEEPS = 25
START_LOOKS = 100_000  # for the grouping that the samples begin with
PRIOR_SAME, PRIOR_PAIRS = 1.0, 4.0  # added to the pairs that tell K


def sweeps_for(n_couplings: int) -> tuple[int, int]:
    """How many sweeps are made between two estimates of the rates, and at the end: fewer where couplings are many.

    From 800,000 on they are as few as can be, and so the cost grows with the couplings alone.

    >>> sweeps_for(40_000), sweeps_for(100_000), sweeps_for(800_000), sweeps_for(10_000_000)
    ((4, 150), (2, 150), (1, 25), (1, 25))
    """
    affordable = LOOKS // n_couplings
    return min(max(affordable // 100, 1), SWEEPS), min(max(affordable, LEAST_SWEEPS), LAST_SWEEPS)


class Groupings:
    """P(same) of couplings and of any other pairs, for log-odds that may change from call to call."""

    def __init__(self, couplings: Couplings, n_classes: int | None, random: np.random.Generator) -> None:
        self.couplings, self.given, self.random = couplings, n_classes, random
        self.needed, self.n_classes = 2, n_classes or 2
        self.loops = couplings.batches(couplings.small & ~couplings.tree)
        self.large = couplings.edges_in(~couplings.small & ~couplings.tree)
        self.in_tree = couplings.edges_in(couplings.tree)
        self.chain: Chain | None = None
        self.samples = np.empty((couplings.n, 0), dtype=np.int32)  # labels
        self.exact = self.deterministic = not len(self.large)
        self.settled = True
        self.log_odds = np.zeros(len(couplings.i))
        self.same = np.zeros(len(couplings.i))

    def update(self, log_odds: Floats, last: bool = False) -> Floats:
        """(E,) P(same) of each coupling."""
        if self.chain is None:
            self._begin(log_odds)
        elif self.given is None:
            self._count_classes(float(self.same.sum()))
        self.log_odds = log_odds
        self.same = np.empty(len(log_odds))
        self.same[self.in_tree] = expit(log_odds[self.in_tree] - np.log(max(self.n_classes - 1, 1e-12)))
        for batch in self.loops:
            size = batch.items.shape[1]
            self.same[batch.edges] = groupings(batch.log_odds(log_odds), size, self.n_classes)[batch.row, batch.pair]
        if len(self.large):
            self.same[self.large] = self._sample(last)
        return self.same

    def between(self, i: Ints, j: Ints) -> Floats:
        """P(same) of pairs that nothing couples directly."""
        couplings = self.couplings
        a, b = couplings.component[i], couplings.component[j]
        same = np.full(len(i), 1 / self.n_classes)
        together = a == b
        which = np.zeros(couplings.n_components, dtype=np.bool_)
        which[a[together & couplings.small[a]]] = True
        for batch in couplings.batches(which):
            size = batch.items.shape[1]
            table = groupings(batch.log_odds(self.log_odds), size, self.n_classes)
            rows = np.flatnonzero(together & (couplings.size[a] == size))
            chosen = couplings.component[batch.items[:, 0]]
            same[rows] = table[np.searchsorted(chosen, a[rows]), couplings.pair(i[rows], j[rows])]
        sampled = np.flatnonzero(together & ~couplings.small[a])
        if len(sampled):
            same[sampled] = (self.samples[i[sampled]] == self.samples[j[sampled]]).mean(axis=1)
        same[i == j] = 1.0
        return same

    def _begin(self, log_odds: Floats) -> None:
        """Count classes by the answers as they are, and begin the samples with a good grouping."""
        i, j = self.couplings.i, self.couplings.j
        n_positive = float((log_odds > 0).sum())
        labels = np.zeros(self.couplings.n, dtype=np.int64)
        large = self.couplings.edges_in(~self.couplings.small)
        if len(large):
            rounds = max(START_LOOKS // (len(large) + 1000), 1)
            group = group_greedily(i[large], j[large], log_odds[large], self.couplings.n, rounds)
            n_groups = int(group.max()) + 1
            left, right = group[i[large]], group[j[large]]
            pair, place = np.unique(left * n_groups + right, return_inverse=True)
            apart = pair[(np.bincount(place, log_odds[large]) < 0) & (pair // n_groups != pair % n_groups)]
            colour = colouring(apart // n_groups, apart % n_groups, n_groups, self.random)
            self.needed = max(int(colour.max()) + 1, 2)
            labels = colour[group]
        if self.given is None:
            self._count_classes(n_positive)
        self.chain = Chain(i[large], j[large], labels % self.n_classes, self.n_classes, self.random)

    def _count_classes(self, n_same: float) -> None:
        share = (n_same + PRIOR_SAME) / (len(self.couplings.i) + PRIOR_PAIRS)
        self.n_classes = max(round(1 / share), 2)
        if self.chain is not None:  # where labels are too many, the items of the rarest take others
            used, labels, counts = np.unique(self.chain.labels, return_inverse=True, return_counts=True)
            rank = np.empty(len(used), dtype=np.int64)
            rank[np.argsort(-counts, kind="stable")] = np.arange(len(used))
            self.chain.labels, self.chain.n_labels = rank[labels] % self.n_classes, self.n_classes

    def _sample(self, last: bool) -> Floats:
        chain = self.chain
        assert chain is not None
        everything = self.couplings.edges_in(~self.couplings.small)  # with large trees, for `between`
        log_odds = self.log_odds[everything]
        sweeps = sweeps_for(len(log_odds))[last]
        same, kept = np.zeros(len(log_odds)), []
        for _ in range(sweeps):
            chain.sweep(log_odds)
            same += chain.same(log_odds)
            kept.append(chain.labels.astype(np.int32))
        if last:
            self.samples = np.stack(kept[-KEPT:], axis=1)
        return (same / sweeps)[np.isin(everything, self.large)]
