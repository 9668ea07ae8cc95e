"""MPCK-means' objective J (see mpck_means.py), and the steps that lower it: new metrics, and moves of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.constraints import Constraints, Floats, Ints
from likewise.clustering.distances import AT_ONCE, DENSE, far_pair, farthest_pair, squared_distances
from likewise.clustering.pck_means import Neighbourhoods, linked_inside, neighbourhoods, reassign

# A metric that is learned in closed form: a positive weight for each feature (d,), or a matrix (d, d).
#
#     G(A) = <A, S> + c max_ij ||x_i - x_j||_A^2 - n (log det A - r tr A)
#
# S is what the items and pairs of a cluster spread, c the weight of its broken cannot-links, n the number of its items,
# r a small number that keeps A finite where nothing spreads. With the farthest two items x', x'' as they are under the
# present A, the minimum is A = n (S + c (x' - x'')(x' - x'')' + n r I)^-1. Other items may be farthest under the new A,
# so that G need not fall: then these count as well, c being shared among the pairs, and it is tried again. To find the
# farthest of n items takes all n^2 distances; two sweeps over the items find far ones, and often show that G has risen.

TRIES = 8  # to lower G, before the metric is left as it is


class Metric(NamedTuple):
    """A, and the farthest items under it: (0, 0) where these are not needed."""

    A: Floats  # (d,) or (d, d)
    farthest: tuple[int, int] = (0, 0)

    def map(self, items: Floats) -> Floats:
        """Items whose Euclidean distances are those of the metric."""
        return items * np.sqrt(self.A) if self.A.ndim == 1 else items @ np.linalg.cholesky(self.A)

    def times(self, vector: Floats) -> Floats:
        return self.A * vector if self.A.ndim == 1 else self.A @ vector

    def squared(self, difference: Floats) -> float:
        return float(difference @ self.times(difference))

    def volume(self, r: float) -> float:
        """log det A - r tr A."""
        if self.A.ndim == 1:
            return float(np.log(self.A).sum() - r * self.A.sum())
        return float(np.linalg.slogdet(self.A)[1] - r * self.A.trace())

    def widest(self, items: Floats) -> float:
        """The squared distance of the farthest items."""
        first, second = self.farthest
        return self.squared(items[first] - items[second])


class Scatter(NamedTuple):
    """What a metric is made from."""

    S: Floats  # (d,) or (d, d)
    c: float
    n: float

    def cost(self, metric: Metric, items: Floats, r: float) -> float:
        """G(A)."""
        far = self.c * metric.widest(items) if self.c else 0.0
        return float((metric.A * self.S).sum()) + far - self.n * metric.volume(r)


def scatter(difference: Floats, weight: Floats, full: bool) -> Floats:
    """The weighted sum of squares (d,) or of outer products (d, d) of rows (m, d)."""
    return np.asarray(difference.T @ (weight[:, None] * difference) if full else weight @ difference**2)


def scatter_of_pairs(items: Floats, ends: Ints, weight: Floats, full: bool) -> Floats:
    """The same of differences of items, a block of pairs at a time."""
    d = items.shape[1]
    total = np.zeros((d, d) if full else d)
    rows = max(AT_ONCE // d, 1)
    for start in range(0, len(ends), rows):
        i, j = ends[start : start + rows].T
        total += scatter(items[i] - items[j], weight[start : start + rows], full)
    return total


def improve(metric: Metric, spread: Scatter, items: Floats, r: float, separated: bool) -> Metric:
    """A metric with a lower G, or the one given; without items to learn from, the one given."""
    if not spread.n:
        return metric
    before, farthest = spread.cost(metric, items, r), [metric.farthest]
    for _ in range(TRIES):
        better = Metric(_minimiser(spread, items[[i for i, _ in farthest]] - items[[j for _, j in farthest]], r))
        if np.array_equal(better.A, metric.A):
            return metric
        if separated:
            mapped = better.map(items)
            better = better._replace(farthest=far_pair(mapped, farthest[-1][0]))
            if spread.cost(better, items, r) <= before:
                better = better._replace(farthest=farthest_pair(mapped))
        if spread.cost(better, items, r) <= before:
            return better
        farthest.append(better.farthest)
    return metric


def distances_under(metrics: Sequence[Metric], items: Floats, ends: Ints) -> Floats:
    """(m, metrics) The squared distances of listed pairs under each metric.

    Weights of features share the squared differences: one product for all metrics.
    """
    i, j = ends.T
    if metrics[0].A.ndim == 2 or len(ends) > DENSE * len(items) ** 2:
        mapped = (metric.map(items) for metric in metrics)
        return np.stack([squared_distances(under, under, i, j) for under in mapped], axis=1)
    weights = np.stack([metric.A for metric in metrics], axis=1)  # (d, metrics)
    rows = max(AT_ONCE // items.shape[1], 1)
    apart = np.empty((len(ends), len(metrics)))
    for part in (slice(start, start + rows) for start in range(0, len(ends), rows)):
        apart[part] = (items[i[part]] - items[j[part]]) ** 2 @ weights
    return apart


def _minimiser(spread: Scatter, far: Floats, r: float) -> Floats:
    """n (S + c mean of v v' + n r I)^-1, v the rows of `far`; S may be indefinite: what is below n r is set to it."""
    full = spread.S.ndim == 2
    least = spread.n * r
    total = spread.S + scatter(far, np.full(len(far), spread.c / len(far)), full)
    if not full:
        return np.asarray(spread.n / np.maximum(total + least, least))
    size, axes = np.linalg.eigh(total)
    return np.asarray(spread.n * (axes / np.maximum(size + least, least)) @ axes.T)


@dataclass(frozen=True, eq=False)
class MetricPenalties:
    """J as a function of labels (n,), centres (K, d) and metrics: one for each cluster, or a single one for all."""

    items: Floats  # (n, d), around 0
    constraints: Constraints
    links: csr_array  # (n, n) w s
    must_links: csr_array  # (n, n) w s, the must-links alone
    group: Ints  # (n,) the neighbourhood of each item
    regularisation: float  # r

    @classmethod
    def of(cls, items: Floats, constraints: Constraints, weight: float, regularisation: float) -> MetricPenalties:
        scaled = Constraints(
            constraints.n_items,
            constraints.must_link,
            constraints.cannot_link,
            weight * constraints.must_weight,
            weight * constraints.cannot_weight,
        )
        return cls(items, scaled, scaled.signed, scaled.must, neighbourhoods(scaled), regularisation)

    def first_metrics(self, number: int, full: bool) -> list[Metric]:
        d = self.items.shape[1]
        return [Metric(np.eye(d) if full else np.ones(d), farthest_pair(self.items))] * number

    def objective(self, metrics: Sequence[Metric], labels: Ints, centres: Floats) -> float:
        return sum(
            spread.cost(metric, self.items, self.regularisation)
            for metric, spread in zip(metrics, self._spreads(metrics, labels, centres), strict=True)
        )

    def improve(self, metrics: Sequence[Metric], labels: Ints, centres: Floats) -> list[Metric]:
        """The metrics for these labels; the farthest items under a metric matter only if something cannot be linked."""
        separated = len(self.constraints.cannot_link) > 0
        return [
            improve(metric, spread, self.items, self.regularisation, separated)
            for metric, spread in zip(metrics, self._spreads(metrics, labels, centres), strict=True)
        ]

    def move(self, metrics: Sequence[Metric], labels: Ints, centres: Floats) -> Ints:
        """Labels from which no move of a single item lowers J."""
        items, links = self.items, self.links
        cost, size = self._costs(metrics, labels, centres)
        widest = [metric.widest(items) for metric in metrics]
        cannot = np.maximum(-links.data, 0.0)
        many = len(items) // 4  # from so many neighbours on, a product with all items is faster than with some

        def pull(h: int, j: int, entries: slice) -> Floats:
            g = h if len(metrics) > 1 else 0
            near, toward = links.indices[entries], metrics[g].times(items[j])
            product = (items @ toward)[near] if len(near) > many else items[near] @ toward
            apart = np.maximum(size[g][near] + size[g][j] - 2 * product, 0.0)
            return np.asarray(np.abs(links.data[entries]) * apart - widest[g] * cannot[entries])

        ends, credit = linked_inside(self.constraints, self.group)
        apart = distances_under(metrics, items, ends)
        inside = np.abs(credit)[:, None] * apart + np.minimum(credit, 0.0)[:, None] * widest  # (m, metrics)
        inside = np.broadcast_to(inside, (len(ends), len(centres)))
        return reassign(cost, labels, links, pull, Neighbourhoods(self.group, ends, inside))

    def _costs(self, metrics: Sequence[Metric], labels: Ints, centres: Floats) -> tuple[Floats, list[Floats]]:
        """(n, K) What each item pays in each cluster while the others stay, and the squared norms under each metric.

        cost_ih = ||x_i - mu_h||^2 - log det A_h + r tr A_h + 1/2 sum_{j: must} s_ij d_h(i, j)
                  - sum_{j in h} (|s_ij| d_h(i, j) - [cannot] |s_ij| widest_h),
        all under A_h. Half of a broken must-link is paid under the metric of each of its two clusters. What i pays
        under A_{l_j} is the same wherever it goes, save to j's own cluster: half stands above, and there all is given
        back.
        """
        items, n, K = self.items, len(self.items), len(centres)
        degree, linked = np.asarray(self.must_links.sum(axis=1)), self.must_links @ items
        cost, sizes = np.empty((n, K)), []
        for g, metric in enumerate(metrics):
            clusters, members = self._under(g, metrics, labels, K)
            mapped, target = metric.map(items), metric.map(centres[clusters])
            size = (mapped**2).sum(axis=1)
            half = (degree * size + self.must_links @ size) / 2 - np.einsum("id,id->i", mapped, metric.map(linked))
            to_centre = size[:, None] + (target**2).sum(axis=1) - 2 * mapped @ target.T
            cost[:, clusters] = to_centre - metric.volume(self.regularisation) + half[:, None]
            rows = self.links[members]
            i = rows.indices.astype(np.int64)
            j = np.repeat(np.arange(len(members)), np.diff(rows.indptr))
            apart = squared_distances(mapped, mapped[members], i, j)
            pulled = np.abs(rows.data) * apart + metric.widest(items) * np.minimum(rows.data, 0.0)
            where = i * K + labels[members][j]
            cost -= np.bincount(where, pulled, minlength=n * K).reshape(n, K)
            sizes.append(size)
        return cost, sizes

    def _spreads(self, metrics: Sequence[Metric], labels: Ints, centres: Floats) -> list[Scatter]:
        """What each metric is made from: the items of its clusters, and the broken pairs that it is asked about."""
        constraints, full = self.constraints, metrics[0].A.ndim == 2
        apart = labels[constraints.must_link[:, 0]] != labels[constraints.must_link[:, 1]]
        must = np.concatenate(
            [constraints.must_link[apart], constraints.must_link[apart][:, ::-1]]
        )  # half for each of the two
        must_weight = np.tile(constraints.must_weight[apart] / 2, 2)
        together = labels[constraints.cannot_link[:, 0]] == labels[constraints.cannot_link[:, 1]]
        cannot, cannot_weight = constraints.cannot_link[together], constraints.cannot_weight[together]
        spreads = []
        for g in range(len(metrics)):
            _, members = self._under(g, metrics, labels, len(centres))
            S = scatter(self.items[members] - centres[labels[members]], np.ones(len(members)), full)
            own = slice(None) if len(metrics) == 1 else labels[must[:, 0]] == g
            S = S + scatter_of_pairs(self.items, must[own], must_weight[own], full)
            own = slice(None) if len(metrics) == 1 else labels[cannot[:, 0]] == g
            S = S - scatter_of_pairs(self.items, cannot[own], cannot_weight[own], full)
            spreads.append(Scatter(S, float(cannot_weight[own].sum()), float(len(members))))
        return spreads

    @staticmethod
    def _under(g: int, metrics: Sequence[Metric], labels: Ints, K: int) -> tuple[Ints, Ints]:
        """The clusters of a metric, and their items."""
        if len(metrics) == 1:
            return np.arange(K), np.arange(len(labels))
        return np.array([g]), np.flatnonzero(labels == g)
