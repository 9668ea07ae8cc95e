"""The nearest other items of each: exactly, or of many items among those in cells nearby.

Comparing all items with each other takes the square of their number. Cells are k-means of a sample; an item is compared
with those in the cells whose centres are nearest to the centre of its own.
"""

from __future__ import annotations

import numpy as np
from sklearn.cluster import MiniBatchKMeans

from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.geometry import nearest

MOST_ITEMS = 20_000  # that are all compared with each other
CELL = 400  # items in one, about
CELLS = 5  # that are looked at


def near_items(rows: Floats, k: int, seed: int) -> Ints:
    """(n, k) The nearest other rows of each, nearest first."""
    n = len(rows)
    if n <= MOST_ITEMS:
        return nearest(rows, k)
    rows = rows.astype(np.float32)
    cells = MiniBatchKMeans(n // CELL, n_init=1, batch_size=4096, max_iter=20, random_state=seed).fit(rows)
    label, centres = cells.labels_, cells.cluster_centers_
    order = np.argsort(label, kind="stable")
    starts = np.searchsorted(label[order], np.arange(len(centres) + 1))
    squares = (rows**2).sum(axis=1)
    between = (centres**2).sum(axis=1) - 2 * centres @ centres.T
    near = np.empty((n, k), dtype=np.int64)
    for cell in range(len(centres)):
        own = order[starts[cell] : starts[cell + 1]]
        closest, others = np.argsort(between[cell] + 0, kind="stable"), []
        for taken, other in enumerate(closest):
            others.append(order[starts[other] : starts[other + 1]])
            if taken + 1 >= CELLS and sum(map(len, others)) > k:
                break
        some = np.concatenate(others)
        distance = squares[some] - 2 * rows[own] @ rows[some].T
        distance[own[:, None] == some] = np.inf
        best = np.argpartition(distance, k - 1, axis=1)[:, :k]
        ranked = np.take_along_axis(best, np.take_along_axis(distance, best, 1).argsort(axis=1, kind="stable"), 1)
        near[own] = some[ranked]
    return near
