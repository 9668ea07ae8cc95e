"""The posterior over groupings where answers are all that is known.

The prior gives each item one of K labels, all as likely, so two items are the same with probability 1 / K, and items
that no chain of answers couples are independent. Where K is not given, it is estimated from how many of the pairs
asked about are the same. People ask more often about pairs that are alike, and then this K is too small to keep groups
apart; `needed` is what they need, so that the two can be compared.

Trees need no more than their own answers: without a loop no answer bears on another. Other components of up to eight
items are enumerated, and larger ones sampled, by Swendsen and Wang (1987):

    P(z) ~ exp(sum of log_odds_ij over the couplings with z_i = z_j),   each of K labels as likely at first

Without unary terms no label differs from another, and belief propagation stays where all labels are equal: it does not
see that a = b, b = c and a != c contradict each other. So we sample. A sweep draws the label of each item given its
neighbours' (heat bath; items of one colour have no coupling between them and are drawn together), and then moves
whole clusters: couplings towards "same" that hold are kept with probability 1 - exp(-log_odds), and each cluster that
they bind takes another label as far as the couplings towards "different" let it. It is O(couplings) however many labels
there are. The samples begin at the grouping that loses the least.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from likewise.pairs.closure import components
from likewise.pairs.correlation_clustering import group_greedily
from likewise.pairs.enumeration import Couplings, groupings

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
        self.couplings, self.fixed_n_classes, self.random = couplings, n_classes, random
        self.needed, self.n_classes = 2, n_classes or 2
        self.loops = couplings.batches(couplings.small & ~couplings.tree)
        self.large = couplings.edges_in(~couplings.small & ~couplings.tree)
        self.in_tree = couplings.edges_in(couplings.tree)
        self.chain: Chain | None = None
        self.samples = np.empty((couplings.n, 0), dtype=np.int32)  # labels
        self.exact = self.deterministic = not len(self.large)
        self.converged = True
        self.log_odds = np.zeros(len(couplings.i))
        self.same = np.zeros(len(couplings.i))

    def update(self, log_odds: Floats, last: bool = False) -> Floats:
        """(E,) P(same) of each coupling."""
        if self.chain is None:
            self._begin(log_odds)
        elif self.fixed_n_classes is None:
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
        if self.fixed_n_classes is None:
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


TABLE = 64  # labels, up to which a table of all of them is quicker than a list of those that neighbours have


class Chain:
    """Labels of n items with couplings (i, j), and the sweeps that change them."""

    def __init__(self, i: Ints, j: Ints, labels: Ints, n_labels: int, random: np.random.Generator) -> None:
        self.i, self.j, self.labels, self.n_labels, self.random = i, j, labels.copy(), n_labels, random
        self.n = len(labels)
        self.item, self.other = np.concatenate([i, j]), np.concatenate([j, i])
        order = np.argsort(self.item, kind="stable")
        self.item, self.other, self.edge = self.item[order], self.other[order], order % max(len(i), 1)
        starts = np.searchsorted(self.item, np.arange(self.n + 1))
        colour = colouring(i, j, self.n, random)
        self.by_colour = []  # the items of each colour, and the couplings both ways that begin at them
        for which in range(int(colour.max(initial=-1)) + 1):
            items = np.flatnonzero(colour == which)
            degree = starts[items + 1] - starts[items]
            place = np.repeat(np.arange(len(items)), degree)
            offset = np.arange(len(place)) - np.repeat(np.cumsum(degree) - degree, degree)
            self.by_colour.append((items, place, starts[items][place] + offset))

    def sweep(self, log_odds: Floats) -> None:
        """Draw every item once, then move clusters."""
        for items, place, rows in self.by_colour:
            if self.n_labels <= TABLE:
                share = self._table(place, rows, log_odds, len(items)).cumsum(axis=1)
                wanted = self.random.random((len(items), 1)) * share[:, -1:]
                self.labels[items] = (share > wanted).argmax(axis=1)
            else:
                self.labels[items] = self._draw(self._field(place, rows, log_odds, len(items)))
        self._move_clusters(log_odds)

    def same(self, log_odds: Floats) -> Floats:
        """(E,) That each coupling's items are the same, given all others of each: its mean over samples is P(same)."""
        everything = np.arange(len(self.item))
        if self.n_labels <= TABLE:
            table = self._table(self.item, everything, log_odds, self.n)
            share = table[self.item, self.labels[self.other]] / table.sum(axis=1)[self.item]
            return np.asarray(np.bincount(self.edge, share, minlength=len(self.i)) / 2)
        field = self._field(self.item, everything, log_odds, self.n)
        most, total = self._normaliser(field)
        entries = field.row * self.n_labels + field.label  # sorted, and every neighbour's label is there
        at = np.searchsorted(entries, self.item * self.n_labels + self.labels[self.other])
        share = np.exp(field.value[at] - most[self.item]) / total[self.item]
        return np.asarray(np.bincount(self.edge, share, minlength=len(self.i)) / 2)

    def _table(self, place: Ints, rows: Ints, log_odds: Floats, n: int) -> Floats:
        """(n, K) How likely each label of each item is, given its neighbours, relative to the likeliest."""
        key = place * self.n_labels + self.labels[self.other[rows]]
        table = np.bincount(key, log_odds[self.edge[rows]], minlength=n * self.n_labels).reshape(n, self.n_labels)
        return np.asarray(np.exp(table - table.max(axis=1, keepdims=True)))

    def _field(self, place: Ints, rows: Ints, log_odds: Floats, n: int) -> Field:
        """The sum of log-odds for each item and each label that one of its neighbours has."""
        key = place * self.n_labels + self.labels[self.other[rows]]
        entry, inverse = np.unique(key, return_inverse=True)
        value = np.bincount(inverse, log_odds[self.edge[rows]], minlength=len(entry))
        return Field(entry // self.n_labels, entry % self.n_labels, value.astype(np.float64), n)

    def _normaliser(self, field: Field) -> tuple[Floats, Floats]:
        """The largest logarithm of each item, and the sum over all labels relative to it."""
        most = np.zeros(field.n)
        np.maximum.at(most, field.row, field.value)
        seen = np.bincount(field.row, minlength=field.n)
        known = np.bincount(field.row, np.exp(field.value - most[field.row]), minlength=field.n)
        return most, np.asarray(known + (self.n_labels - seen) * np.exp(-most), dtype=np.float64)

    def _draw(self, field: Field) -> Ints:
        """A label for each item, in proportion to exp(field)."""
        most, total = self._normaliser(field)
        wanted = self.random.random(field.n) * total
        weight = np.exp(field.value - most[field.row])
        sums = np.cumsum(weight)
        first = np.searchsorted(field.row, np.arange(field.n + 1))
        before = np.concatenate([[0.0], sums])[first]
        at = np.searchsorted(sums, before[:-1] + wanted, side="right")
        inside = at < first[1:]
        labels = np.empty(field.n, dtype=np.int64)
        labels[inside] = field.label[at[inside]]
        rest = np.flatnonzero(~inside)
        table = csr_array((np.ones(len(field.row)), (field.row, field.label)), (field.n, self.n_labels))
        full = first[rest + 1] - first[rest] == self.n_labels  # by rounding alone: the last one is meant
        labels[rest[full]] = field.label[first[rest[full] + 1] - 1]
        rest = rest[~full]
        while len(rest):  # any label that no neighbour has, by trying
            label = self.random.integers(self.n_labels, size=len(rest))
            free = np.asarray(table[rest, label]).ravel() == 0
            labels[rest[free]] = label[free]
            rest = rest[~free]
        return labels

    def _move_clusters(self, log_odds: Floats) -> None:
        held = (log_odds > 0) & (self.labels[self.i] == self.labels[self.j])
        held &= self.random.random(len(held)) >= np.exp(-np.maximum(log_odds, 0))
        cluster, n = components(self.i[held], self.j[held], self.n)
        label = np.empty(n, dtype=np.int64)
        label[cluster] = self.labels
        apart = log_odds < 0
        a, b, cost = cluster[self.i[apart]], cluster[self.j[apart]], log_odds[apart]
        between = a != b
        a, b, cost = a[between], b[between], cost[between]

        rank = self.random.permutation(n)
        moving = np.ones(n, dtype=np.bool_)  # of clusters with a coupling between them only the first by rank
        moving[np.where(rank[a] < rank[b], a, b)] = False
        wanted = self.random.integers(self.n_labels, size=n)
        gain = np.zeros(n)
        for one, other in ((a, b), (b, a)):
            gain += np.bincount(one, cost * (wanted[one] == label[other]), minlength=n)
            gain -= np.bincount(one, cost * (label[one] == label[other]), minlength=n)
        moving &= self.random.random(n) < np.exp(np.minimum(gain, 0))
        self.labels = np.where(moving, wanted, label)[cluster]


class Field(NamedTuple):
    """For items and labels in order: the sum of the log-odds of the item's couplings to items with the label."""

    row: Ints
    label: Ints
    value: Floats
    n: int


def colouring(i: Ints, j: Ints, n: int, random: np.random.Generator) -> Ints:
    """A colour for each of n items, such that two with a coupling differ; by taking local maxima of a random order.

    >>> int(colouring(np.array([0, 1, 2]), np.array([1, 2, 3]), 4, np.random.default_rng(0)).max())
    1
    """
    colour, rank = np.full(n, -1), random.permutation(n)
    item, other = np.concatenate([i, j]), np.concatenate([j, i])
    degree = np.bincount(item, minlength=n)
    rank = np.lexsort((rank, degree)).argsort()  # those with many neighbours first, which takes fewer colours
    while (colour < 0).any():
        waiting = colour < 0
        open_edges = waiting[item] & waiting[other] & (item != other)
        first = waiting.copy()
        first[item[open_edges & (rank[item] < rank[other])]] = False
        # The smallest colour that no neighbour has: in order, the neighbours' colours are 0, 1, 2, ... up to it.
        about = first[item] & (colour[other] >= 0)
        taken = np.unique(item[about] * (n + 1) + colour[other[about]])
        who, used = np.divmod(taken, n + 1)
        starts = np.searchsorted(who, who)
        in_order = used == np.arange(len(who)) - starts
        lowest = np.bincount(who[in_order], minlength=n)
        colour[first] = lowest[first]
    return colour
