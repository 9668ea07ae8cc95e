"""Atoms joined into classes, by where they lie and by the answers about them.

    join the two groups p, q with the greatest   odds(gain_pq) + sum_{i in p, j in q} w_ij,    as long as it is above 0

gain_pq = |S_p + S_q| - |S_p| - |S_q| is that of spherical k-means, with S_p the sum of the places in p, and w_ij the
log-odds of an answer. The number of classes C that the neighbours suggest is off by a factor of about e^(1/4). So is
the merge that leaves C groups: its odds are even, and those of the merges e^(1/4) times as far up and down the tree are
-1 and +1, no more than `SUREST` anywhere. Every merge, and every merge that was not made, has a probability then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.clustering.constraints import Floats, Ints
from likewise.querying.view import View

SUREST = 3.5  # the log-odds that geometry alone reaches at most
COUNT_ERROR, KNOWN_ERROR = 0.25, 0.05  # of the logarithm of the number of classes: suggested, or given


@dataclass(frozen=True)
class Scale:
    """Which gain has even odds, and how much more is worth one unit of log-odds."""

    even: float
    unit: float

    def odds(self, gain: Floats) -> Floats:
        return np.asarray(SUREST * np.tanh((gain - self.even) / (self.unit * SUREST)))


@dataclass(frozen=True, eq=False)
class Partition:
    cluster: Ints  # (M,) of each atom
    n_clusters: int
    left: Ints  # (J,) the nodes that each join made one: atoms are 0 ... M - 1, the t-th join is M + t
    right: Ints
    odds: Floats  # (J,) of each join, answers and all
    small: Floats  # (J,) the size of its smaller side
    root: Ints  # (K,) the node of each cluster
    between: Floats  # (K, K) log-odds that two clusters are one class
    sizes: Floats  # (K,)

    def atoms_of(self, node: int) -> Ints:
        """The atoms under a node of the tree."""
        m, stack, atoms = len(self.cluster), [node], []
        while stack:
            each = stack.pop()
            if each < m:
                atoms.append(each)
            else:
                stack += [int(self.left[each - m]), int(self.right[each - m])]
        return np.array(sorted(atoms), dtype=np.int64)


def scale_of(view: View, *, known: bool) -> Scale:
    """By the joins that are made without any answer."""
    gains = join(view, None, np.zeros((view.n_atoms, view.n_atoms)))[2]  # the merge that leaves k groups is gains[-k]
    if not len(gains):
        return Scale(0.0, 1.0)
    error = KNOWN_ERROR if known else COUNT_ERROR

    def gain_at(k: float) -> float:  # between the merge that leaves k and the one that would leave k - 1
        return float(np.interp(k, np.arange(1, len(gains) + 1), gains[::-1]))

    even = (gain_at(view.count) + gain_at(view.count - 1)) / 2 if view.count > 1 else 2 * gain_at(1)
    wide = (gain_at(view.count * np.exp(error)) - gain_at(view.count * np.exp(-error))) / 2
    return Scale(even, max(wide, 1e-6 * abs(even), 1e-12))


def join(view: View, scale: Scale | None, said: Floats) -> tuple[Ints, Ints, Floats, Floats, Ints, Floats]:
    """Joins: both nodes, the odds (or the gain, without a scale) and the smaller size; the node of each group; values."""
    m = view.n_atoms
    sums, sizes, said = view.sums.copy(), view.sizes.copy(), said.copy()
    lengths = np.sqrt((sums**2).sum(axis=1))

    def values(rows: Ints | slice | int) -> Floats:
        product = sums[rows] @ sums.T
        own = lengths[rows][:, None] if np.ndim(lengths[rows]) else lengths[rows]
        gain = np.sqrt(np.maximum(own**2 + lengths**2 + 2 * product, 0)) - own - lengths
        return np.asarray(gain if scale is None else scale.odds(gain) + said[rows])

    value = values(slice(None))
    np.fill_diagonal(value, -np.inf)
    node, alive = np.arange(m), np.ones(m, dtype=np.bool_)
    best = value.argmax(axis=1) if m else np.empty(0, dtype=np.int64)
    top = value[np.arange(m), best]
    left, right, odds, small = [], [], [], []
    for step in range(m - 1):
        a = int(top.argmax())
        b = int(best[a])
        if scale is not None and value[a, b] <= 0:
            break
        a, b = min(a, b), max(a, b)
        left.append(node[a])
        right.append(node[b])
        odds.append(value[a, b])
        small.append(min(sizes[a], sizes[b]))
        sums[a] += sums[b]
        sizes[a] += sizes[b]
        lengths[a] = np.sqrt(sums[a] @ sums[a])
        said[a] += said[b]
        said[:, a] += said[:, b]
        alive[b], node[a] = False, m + step
        row = values(a)
        row[~alive] = row[a] = -np.inf
        value[a] = value[:, a] = row
        value[b] = value[:, b] = -np.inf
        stale = np.flatnonzero(alive & ((best == a) | (best == b)))
        best[stale] = value[stale].argmax(axis=1)
        better = row > top
        best[better] = a
        best[a], best[b] = row.argmax(), 0
        top = value[np.arange(m), best]
    groups = np.flatnonzero(alive)
    both = np.ix_(groups, groups)
    return (
        np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), np.array(odds), np.array(small),
        np.asarray(node[groups]), value[both],
    )


def partition(view: View, scale: Scale, said: Floats) -> Partition:
    """The classes, from the summed log-odds of the answers (M, M) between atoms."""
    left, right, odds, small, root, between = join(view, scale, said)
    cluster = np.empty(view.n_atoms, dtype=np.int64)
    found = Partition(cluster, len(root), left, right, odds, small, root, between, np.empty(len(root)))
    for number, node in enumerate(root):
        atoms = found.atoms_of(int(node))
        cluster[atoms] = number
        found.sizes[number] = view.sizes[atoms].sum()
    return found
