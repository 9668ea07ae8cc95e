"""A metric that is learned in closed form: a positive weight for each feature (d,), or a matrix (d, d).

    G(A) = <A, S> + c max_ij ||x_i - x_j||_A^2 - n (log det A - r tr A)

S is what the items and pairs of a cluster spread, c the weight of its broken cannot-links, n the number of its items,
r a small number that keeps A finite where nothing spreads. With the farthest two items x', x'' as they are under the
present A, the minimum is A = n (S + c (x' - x'')(x' - x'')' + n r I)^-1. Other items may be farthest under the new A,
so that G need not fall: then these count as well, c being shared among the pairs, and it is tried again. To find the
farthest of n items takes all n^2 distances; two sweeps over the items find far ones, and often show that G has risen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.distances import AT_ONCE, DENSE, far_pair, farthest_pair, squared_distances

TRIES = 8  # to lower G, before the metric is left as it is


class Metric(NamedTuple):
    """A, and the farthest items under it: (0, 0) where nobody asks."""

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


class Spread(NamedTuple):
    """What a metric is made from."""

    S: Floats  # (d,) or (d, d)
    c: float
    n: float

    def cost(self, metric: Metric, items: Floats, r: float) -> float:
        """G(A)."""
        far = self.c * metric.widest(items) if self.c else 0.0
        return float((metric.A * self.S).sum()) + far - self.n * metric.volume(r)


def spread(difference: Floats, weight: Floats, full: bool) -> Floats:
    """The weighted sum of squares (d,) or of outer products (d, d) of rows (m, d)."""
    return np.asarray(difference.T @ (weight[:, None] * difference) if full else weight @ difference**2)


def spread_of_pairs(items: Floats, ends: Ints, weight: Floats, full: bool) -> Floats:
    """The same of differences of items, a block of pairs at a time."""
    d = items.shape[1]
    total = np.zeros((d, d) if full else d)
    rows = max(AT_ONCE // d, 1)
    for start in range(0, len(ends), rows):
        i, j = ends[start : start + rows].T
        total += spread(items[i] - items[j], weight[start : start + rows], full)
    return total


def improve(metric: Metric, made: Spread, items: Floats, r: float, separated: bool) -> Metric:
    """A metric with a lower G, or the one given; where none of the items are there to learn from, the one given."""
    if not made.n:
        return metric
    before, farthest = made.cost(metric, items, r), [metric.farthest]
    for _ in range(TRIES):
        better = Metric(_minimiser(made, items[[i for i, _ in farthest]] - items[[j for _, j in farthest]], r))
        if np.array_equal(better.A, metric.A):
            return metric
        if separated:
            mapped = better.map(items)
            better = better._replace(farthest=far_pair(mapped, farthest[-1][0]))
            if made.cost(better, items, r) <= before:
                better = better._replace(farthest=farthest_pair(mapped))
        if made.cost(better, items, r) <= before:
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


def _minimiser(made: Spread, far: Floats, r: float) -> Floats:
    """n (S + c mean of v v' + n r I)^-1, v the rows of `far`; S may be indefinite: what is below n r is set to it."""
    full = made.S.ndim == 2
    least = made.n * r
    total = made.S + spread(far, np.full(len(far), made.c / len(far)), full)
    if not full:
        return np.asarray(made.n / np.maximum(total + least, least))
    size, axes = np.linalg.eigh(total)
    return np.asarray(made.n * (axes / np.maximum(size + least, least)) @ axes.T)
