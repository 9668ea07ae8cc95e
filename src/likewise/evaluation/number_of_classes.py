"""How many classes there are: the paper's count of dominant clusters, and an estimate that known classes calibrate.

Ward's method joins, step by step, the two clusters whose union spreads least (of items that lie where a walk among
their neighbours puts them: `likewise.supervision.diffusion_rows`). Joining two halves of one class costs
little, joining two classes costs much, and both grow with the items in a class. So the cost at which to stop is

    h^2 = a + b m        m: the mean number of items in a class

with a and b from classes that are known, in piles of different sizes. A new pile of n items is joined as long as going
from K + 1 to K clusters costs no more than h(n / K); where it first does, there are K + 1 classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist

Floats = NDArray[np.float64]


def n_dominant(outputs: ArrayLike, n_outputs: int) -> int:
    """NDC = #{i : C_i >= n / K}, with C_i of the n items on output i of K (section 5.3 of the paper).

    >>> n_dominant([0, 0, 0, 2, 2, 2, 1], n_outputs=5)
    2
    """
    counts = np.bincount(np.asarray(outputs, dtype=np.int64), minlength=n_outputs)
    if len(counts) > n_outputs:
        raise ValueError(f"outputs must be below n_outputs, {n_outputs}, got {len(counts) - 1}.")
    return int(np.sum((counts >= counts.sum() / n_outputs) & (counts > 0)))


@dataclass(frozen=True)
class NumberOfClasses:
    """The estimated number of classes, with an interval from the deviations on known classes.

    >>> NumberOfClasses(estimate=5, low=4, high=7)
    NumberOfClasses(estimate=5, low=4, high=7)
    """

    estimate: int
    low: int
    high: int


def joining_costs(embedding: ArrayLike) -> Floats:
    """Ward's costs of joining n points (n, d), the last joining first: entry K - 1 is that of K + 1 clusters to K.

    >>> joining_costs([[0.0], [1.0], [9.0]]).round(2)
    array([9.81, 1.  ])
    """
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2 or len(points) < 2:
        raise ValueError(f"embedding must be (items, numbers) with two items or more, got shape {points.shape}.")
    costs: Floats = linkage(points, "ward")[::-1, 2]
    return costs


@dataclass(frozen=True)
class StoppingRule:
    """Where joining stops, h^2 = a + b m, and by which factor h was off on the known classes: (low, high).

    >>> points = np.repeat([[0.0], [10.0], [20.0]], 4, axis=0) + np.tile([[0.0], [0.1], [0.2], [0.3]], (3, 1))
    >>> rule = StoppingRule.fit([(joining_costs(points), 3)])  # a pile of three known classes
    >>> rule.number_of_classes(joining_costs(points * 1.1), largest=6).estimate
    3
    """

    a: float
    b: float
    off: tuple[float, float]

    @classmethod
    def fit(cls, piles: Sequence[tuple[Floats, int]]) -> StoppingRule:
        """From piles of known classes, each with its joining costs and its number of classes C.

        At C clusters h must lie between the cost of joining down to C and that of going on to C - 1: the rule is fitted
        to the mean of the two, by least squares, neither a nor b below 0.
        """
        if not piles:
            raise ValueError("A stopping rule needs a pile of known classes.")
        sizes, middles = [], []
        for costs, n_classes in piles:
            if not 2 <= n_classes <= len(costs):
                raise ValueError(f"A pile of {len(costs) + 1} items cannot have {n_classes} classes to tell apart.")
            sizes.append((len(costs) + 1) / n_classes)
            middles.append(((costs[n_classes - 1] + costs[n_classes - 2]) / 2) ** 2)  # h^2
        a, b = _line(np.array(sizes), np.array(middles))
        off = np.sqrt(np.array(middles) / (a + b * np.array(sizes)))
        return cls(a, b, (float(np.quantile(off, 0.05)), float(np.quantile(off, 0.95))))

    def number_of_classes(self, costs: Floats, largest: int) -> NumberOfClasses:
        """How many classes a pile with these joining costs has: two or more, at most `largest`."""
        few, middle, many = (self._last(costs, largest, factor) for factor in (self.off[1], 1.0, self.off[0]))
        return NumberOfClasses(middle, min(few, middle), max(many, middle))

    def _last(self, costs: Floats, largest: int, factor: float) -> int:
        k = np.arange(2, len(costs) + 2)  # joining k clusters to k - 1
        dear = np.flatnonzero(costs > factor * np.sqrt(self.a + self.b * (len(costs) + 1) / (k - 1)))
        return int(min(largest, k[dear[-1]] if len(dear) else 2))


def _line(sizes: Floats, values: Floats) -> tuple[float, float]:
    """The least squares of values = a + b sizes with a, b >= 0."""
    spread = sizes - sizes.mean()
    b = float(spread @ values / (spread @ spread)) if spread.any() else 0.0
    a = float(values.mean() - b * sizes.mean())
    if b < 0:
        return float(values.mean()), 0.0
    return (a, b) if a >= 0 else (0.0, float(sizes @ values / (sizes @ sizes)))


def number_by_silhouette(points: ArrayLike, largest: int) -> NumberOfClasses:
    """The number of Ward's clusters with the greatest silhouette (Rousseeuw, 1987), where no known class can tell.

    The interval holds the numbers around it whose silhouette is less than two standard errors lower.

    >>> number_by_silhouette([[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]], largest=5).estimate
    3
    """
    values = np.asarray(points, dtype=np.float64)
    n = len(values)
    largest = min(largest, n - 1)
    if largest < 2:
        return NumberOfClasses(1, 1, 1)
    tree = linkage(values, "ward")
    finest = fcluster(tree, largest, "maxclust") - 1
    apart = cdist(values, values)
    clusters = np.unique(finest)
    sums = np.stack([apart[:, finest == k].sum(1) for k in clusters], 1)  # (n, clusters)
    label = np.searchsorted(clusters, finest)
    scores: dict[int, Floats] = {len(clusters): _silhouettes(sums, label)}
    for k in range(len(clusters) - 1, 1, -1):
        coarser = np.unique(fcluster(tree, k, "maxclust"), return_inverse=True)[1]
        n_coarser = int(coarser.max()) + 1
        parent = np.zeros(sums.shape[1], dtype=np.int64)
        parent[label] = coarser
        merged = np.zeros((n, n_coarser))
        np.add.at(merged.T, parent, sums.T)
        sums, label = merged, coarser
        scores[n_coarser] = _silhouettes(sums, label)
    best = max(scores, key=lambda k: float(scores[k].mean()))
    error = float(scores[best].std()) / np.sqrt(n)
    near = {k for k, each in scores.items() if each.mean() > scores[best].mean() - 2 * error}
    low = high = best
    while low - 1 in near:
        low -= 1
    while high + 1 in near:
        high += 1
    return NumberOfClasses(best, low, high)


def _silhouettes(sums: Floats, label: NDArray[np.int64]) -> Floats:
    """(b - a) / max(a, b) of each item, with a its mean distance within its cluster and b to the nearest other."""
    items = np.arange(len(label))
    size = np.bincount(label, minlength=sums.shape[1])
    own = sums[items, label] / np.maximum(size[label] - 1, 1)
    means = sums / size
    means[items, label] = np.inf
    other = means.min(1)
    out: Floats = np.where(size[label] > 1, (other - own) / np.maximum(np.maximum(own, other), 1e-300), 0.0)
    return out
