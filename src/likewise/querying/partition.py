"""Atoms joined into classes, by their links and by the answers about them.

    join the two groups p, q with the greatest   odds(x_pq) + sum_{i in p, j in q} w_ij,    as long as it is above 0

    x_pq = log((links between p and q + 1) / (g times as many as chance would have + 1)),     odds(x) = a x

Chance gives d_p d_q / D links, with the degrees d_p and all links D; g is the resolution of modularity (Reichardt and
Bornholdt, 2006), and the 1 keeps small groups from being sure. w_ij is the log-odds of an answer. a and g are
guesses, so that every join, made or not made, has a probability. That of g makes too many groups rather than too few:
two that are one are found by one question, two in one only by asking about every group.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from likewise.clustering.constraints import Floats, Ints
from likewise.querying.view import View

SUREST = 5.0  # the log-odds that links alone reach at most
LEAST = -3.5  # and at least, where answers say "same": a class may be in several places


@dataclass(frozen=True)
class Scale:
    """The slope a and the resolution g."""

    slope: float
    resolution: float

    def odds(self, links: Floats, chance: Floats) -> Floats:
        """That two groups are one class, as a logarithm; of links and of what chance would have."""
        odds = self.slope * strength(links, chance, self.resolution)
        likely = odds > 0
        odds[likely] = SUREST * np.tanh(odds[likely] / SUREST)
        return odds


GUESS = Scale(3.0, 1.5)


def strength(links: Floats, chance: Floats, resolution: float | Floats) -> Floats:
    """x"""
    return np.asarray(np.log((links + 1) / (resolution * chance + 1)))


@dataclass(frozen=True, eq=False)
class Partition:
    cluster: Ints  # (M,) of each atom
    n_clusters: int
    left: Ints  # (J,) the nodes that each join made one: atoms are 0 ... M - 1, the t-th join is M + t
    right: Ints
    odds: Floats  # (J,) of each join, answers and all
    links: Floats  # (J, 2) between its sides, and what chance would have
    small: Floats  # (J,) the size of its smaller side
    root: Ints  # (K,) the node of each cluster
    between: Floats  # (K, K) log-odds that two clusters are one class
    said: Floats  # (K, K) and of answers alone
    apart: Floats  # (K, K, 2) links of two clusters, and what chance would have
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

    def cluster_of(self, nodes: Ints) -> Ints:
        """The cluster of each node: of an atom below it."""
        m, nodes = len(self.cluster), nodes.copy()
        while (joined := nodes >= m).any():
            nodes[joined] = self.left[nodes[joined] - m]
        return np.asarray(self.cluster[nodes])

    def links_between(self, atoms: Ints) -> Floats:
        """(m, 2) Links and chance of two atoms (m, 2): between the groups that were joined, or of their clusters."""
        x, join = self.apart[tuple(self.cluster[atoms].T)], self._joins_of(atoms)
        x[join >= 0] = self.links[join[join >= 0]]
        return np.asarray(x)

    def odds_between(self, atoms: Ints) -> Floats:
        """(m,) Log-odds that two atoms (m, 2) are of one class, answers and all; of one atom they are the surest."""
        odds, join = self.between[tuple(self.cluster[atoms].T)], self._joins_of(atoms)
        odds[join >= 0] = self.odds[join[join >= 0]]
        odds[atoms[:, 0] == atoms[:, 1]] = SUREST
        return np.asarray(odds)

    def _joins_of(self, atoms: Ints) -> Ints:
        """(m,) The join that made one of each two atoms (m, 2); -1 where none did, or where they are one atom."""
        parent = np.full(len(self.cluster) + len(self.left), -1)
        steps = np.arange(len(self.left)) + len(self.cluster)
        parent[self.left], parent[self.right] = steps, steps
        join = np.full(len(atoms), -1)
        for row in np.flatnonzero(self.cluster[atoms[:, 0]] == self.cluster[atoms[:, 1]]):
            a, b = map(int, atoms[row])
            while a != b:  # a later join has a higher number
                a, b = (int(parent[a]), b) if a < b else (a, int(parent[b]))
            join[row] = a - len(self.cluster) if a >= len(self.cluster) else -1
        return join


def weigh(odds: Floats, said: Floats) -> Floats:
    """The log-odds by links and by answers together: links alone do not outweigh several answers "same"."""
    return np.where(said > 0, np.maximum(odds, LEAST), odds) + said


def partition(view: View, scale: Scale, said: Floats, n_classes: int | None = None) -> Partition:
    """The classes, from the summed log-odds of the answers (M, M) between atoms; so many where that is known."""
    m, total = view.n_atoms, max(float(view.degree.sum()), 1e-12)
    tables = np.stack([view.links, said])  # (2, M, M)
    (links, said), degree, sizes = tables, view.degree.copy(), view.sizes.copy()
    value = weigh(scale.odds(links, np.outer(degree, degree) / total), said)
    np.fill_diagonal(value, -np.inf)
    node, alive, rows = np.arange(m), np.ones(m, dtype=np.bool_), np.arange(m)
    gone = np.zeros(m)  # -inf for those that are part of another
    best = value.argmax(axis=1)
    top = value[rows, best]
    joins: list[tuple[int, int, float, float]] = []
    between: list[tuple[float, float]] = []
    for step in range(m - 1):
        a = int(top.argmax())
        b = int(best[a])
        if m - step == n_classes or (n_classes is None and top[a] <= 0):
            break
        a, b = min(a, b), max(a, b)
        joins.append((int(node[a]), int(node[b]), float(value[a, b]), min(sizes[a], sizes[b])))
        between.append((links[a, b], degree[a] * degree[b] / total))
        tables[:, a] += tables[:, b]
        tables[:, a, a] += tables[:, a, b]
        tables[:, :, a] = tables[:, a]
        degree[a] += degree[b]
        sizes[a] += sizes[b]
        alive[b], node[a], gone[b] = False, m + step, -np.inf
        row = weigh(scale.odds(links[a], degree * (degree[a] / total)), said[a]) + gone
        row[a] = -np.inf
        value[a] = value[:, a] = row
        value[b] = value[:, b] = top[b] = -np.inf
        stale = np.flatnonzero(((best == a) | (best == b)) & alive)
        best[stale] = value[stale].argmax(axis=1)
        top[stale] = value[stale, best[stale]]
        better = row > top
        best[better], top[better] = a, row[better]
        best[a] = row.argmax()
        top[a] = row[best[a]]
    roots = np.flatnonzero(alive)
    cluster = np.empty(m, dtype=np.int64)
    table = np.array(joins).reshape(-1, 4)
    both = np.ix_(roots, roots)
    chance = np.outer(degree[roots], degree[roots]) / total
    found = Partition(
        cluster=cluster,
        n_clusters=len(roots),
        left=table[:, 0].astype(np.int64),
        right=table[:, 1].astype(np.int64),
        odds=table[:, 2],
        links=np.array(between).reshape(-1, 2),
        small=table[:, 3],
        root=node[roots],
        between=value[both],
        said=said[both],
        apart=np.stack([links[both], chance], axis=2),
        sizes=sizes[roots],
    )
    for number, root in enumerate(found.root):
        cluster[found.atoms_of(int(root))] = number
    return found
