"""Linkage: small clusters, joined by what geometry and answers say of them together.

    join the two groups p, q with the greatest   geometry.gains[p, q] + sum_{i in p, j in q} w_ij,   until K are left

w_ij = +-log((1 - e) / e) is the log-odds of an answer of which a share e is wrong: + where it says "same". Then each
item moves to where the others' clusters and its own answers put it, as a mean field:

    q_i = softmax_k(geometry.logits_ik + sum_j w_ij q_jk)

Hierarchical clustering under constraints is by Davidson and Ravi (2005); here constraints are odds, and may be wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import softmax

from likewise.clustering.constraints import Constraints, Floats, Ints
from likewise.clustering.geometry import Geometry, members

SWEEPS = 20
FIRST_WRONG, LEAST_WRONG = 0.05, 0.005  # the share of wrong answers: where its estimate begins, and its least
MOST_SAME = 0.3  # of the answers: random pairs of three classes or more hardly give more, with wrong answers and all
UNSURE = 20  # answers that the first estimate counts as


@dataclass(frozen=True, eq=False)
class Odds:
    """Answers among n items: pairs (m, 2), and +1 for same, -1 for different, nearer to 0 where they count less."""

    n_items: int
    ends: Ints
    credit: Floats
    n_classes: int = 0  # where it is known

    @classmethod
    def of(cls, constraints: Constraints, n_classes: int = 0) -> Odds:
        ends = np.concatenate([constraints.must_link, constraints.cannot_link])
        credit = np.clip(np.concatenate([constraints.must_weight, -constraints.cannot_weight]), -1, 1)
        return cls(constraints.n_items, ends, credit, n_classes)

    def __len__(self) -> int:
        return len(self.ends)

    def select(self, chosen: NDArray[np.bool_]) -> Odds:
        return replace(self, ends=self.ends[chosen], credit=self.credit[chosen])

    @property
    def weight(self) -> Floats:
        """(m,) How much each answer counts where partitions are compared: as in a random sample of all pairs.

        People who are asked about likely pairs say "same" far more often than one time in K. By such answers alone a
        partition that merges classes looks good: it puts more "same" together, and hardly any "different".
        """
        weight, share, usual = np.abs(self.credit), self.share_same, 1 / max(self.n_classes, 1)
        if not self.is_same_heavy:
            return weight
        return np.asarray(weight * np.where(self.credit > 0, usual / share, (1 - usual) / max(1 - share, 1e-12)))

    @property
    def share_same(self) -> float:
        return float(self.credit.clip(0).sum() / max(np.abs(self.credit).sum(), 1e-12))

    @property
    def is_same_heavy(self) -> bool:
        """Whether "same" is far more frequent than among random pairs of so many classes."""
        return self.n_classes > 0 and self.share_same > max(MOST_SAME, 3 / self.n_classes)

    def matrix(self, wrong: float) -> csr_array:
        """(n, n) w, symmetric."""
        w = self.credit * math.log((1 - wrong) / wrong)
        i, j = self.ends.T
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        return coo_array((np.concatenate([w, w]), both), shape=(self.n_items, self.n_items)).tocsr()

    def share_wrong(self, labels: Ints) -> float:
        """The share of the answers that a partition denies, drawn towards `FIRST_WRONG` where they are few."""
        together = labels[self.ends[:, 0]] == labels[self.ends[:, 1]]
        weight = np.abs(self.credit)
        denied = float(weight[together != (self.credit > 0)].sum())
        return max(LEAST_WRONG, (denied + FIRST_WRONG * UNSURE) / (float(weight.sum()) + UNSURE))


def join_groups(
    geometry: Geometry, fine: Ints, n_fine: int, odds: csr_array, n_clusters: int, least: float = -math.inf
) -> list[tuple[int, int]]:
    """Which groups of the fine partition (n,) are joined, first to last: (into, other) each time.

    That ends when K are left, or when no two are worth more than `least`.
    """
    evidence = evidence_between(fine, n_fine, odds)
    groups = geometry.groups(fine, n_fine)
    value = groups.gains() + evidence
    np.fill_diagonal(value, -np.inf)
    gone = np.zeros(n_fine, dtype=np.bool_)
    joins = []
    for _ in range(n_fine - n_clusters):
        into, other = sorted(divmod(int(value.argmax()), n_fine))
        if value[into, other] <= least:
            break
        joins.append((into, other))
        groups.join(into, other)
        evidence[into] += evidence[other]
        evidence[:, into] += evidence[:, other]
        gone[other] = True
        row = groups.gains_of(into) + evidence[into]
        row[gone] = row[into] = -np.inf
        value[into] = value[:, into] = row
        value[other] = value[:, other] = -np.inf
    return joins


def evidence_between(fine: Ints, n_fine: int, odds: csr_array) -> Floats:
    """(M, M) The sum of w over the pairs of each two groups."""
    belongs = members(fine, n_fine)
    return np.asarray((belongs.T @ odds @ belongs).toarray())


def move_groups(geometry: Geometry, fine: Ints, n_fine: int, odds: csr_array, cluster: Ints, n_clusters: int) -> Ints:
    """(M,) The clusters of the groups after those that are better off in another one have moved, best move first."""
    groups, evidence = geometry.groups(fine, n_fine), evidence_between(fine, n_fine, odds)
    np.fill_diagonal(evidence, 0)
    cluster, rows = cluster.copy(), np.arange(n_fine)
    for _ in range(n_fine):
        value = groups.places(cluster, n_clusters) + evidence @ np.eye(n_clusters)[cluster]  # (M, K)
        value -= value[rows, cluster][:, None]
        group, to = divmod(int(value.argmax()), n_clusters)
        if value[group, to] < 1e-9:
            break
        cluster[group] = to
    return cluster


def clusters_after(joins: list[tuple[int, int]], n_fine: int) -> Ints:
    """(M,) The cluster of each group, from 0, after some joins."""
    group = np.arange(n_fine)
    for into, other in reversed(joins):  # `into` may have been joined into another one later on
        group[other] = into
    while (group != group[group]).any():
        group = group[group]
    return np.asarray(np.unique(group, return_inverse=True)[1])


def mean_field(geometry: Geometry, labels: Ints, odds: csr_array, n_clusters: int) -> Floats:
    """(n, K) q, from a partition; half of the old q is kept in each sweep, so that neighbours do not swap for ever."""
    q = np.eye(n_clusters)[labels]
    for _ in range(SWEEPS):
        q = (q + softmax(geometry.logits(q) + odds @ q, axis=1)) / 2
    return np.asarray(q)
