"""Squared distances of listed pairs, their gradient, and the two items that are farthest apart."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array

from likewise.clustering.constraints import Floats, Ints

DENSE = 1 / 16  # from this share of all pairs on, a full matrix product is faster than a list of differences
AT_ONCE = 2**22  # numbers in a block of such a list
BLOCKS = 8  # of rows, at the least: the more, the less is computed twice


def squared_distances(left: Floats, right: Floats, i: Ints, j: Ints) -> Floats:
    """(m,) ||left_i - right_j||^2 for each pair of rows.

    >>> left, right = np.array([[0.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 1.0]])
    >>> squared_distances(left, right, np.array([0, 0]), np.array([1, 0]))
    array([ 1., 25.])
    """
    if len(i) > DENSE * len(left) * len(right):
        products = left @ right.T
        apart = (left**2).sum(axis=1)[i] + (right**2).sum(axis=1)[j] - 2 * products[i, j]
        return np.asarray(np.maximum(apart, 0.0))
    rows = max(AT_ONCE // left.shape[1], 1)
    parts = [slice(start, start + rows) for start in range(0, len(i), rows)]
    return np.concatenate([((left[i[part]] - right[j[part]]) ** 2).sum(axis=1) for part in parts] or [np.empty(0)])


def laplacian_times(weight: Floats, i: Ints, j: Ints, items: Floats) -> Floats:
    """(n, d) Lap X of the graph with these edges; X' Lap X is the sum of weight (x_i - x_j)(x_i - x_j)'.

    >>> laplacian_times(np.array([2.0]), np.array([0]), np.array([2]), np.array([[1.0], [5.0], [4.0]]))
    array([[-6.],
           [ 0.],
           [ 6.]])
    """
    n = len(items)
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    graph = coo_array((np.concatenate([weight, weight]), both), shape=(n, n))
    weights = graph.toarray() if len(i) > DENSE * n * n else graph.tocsr()
    degree = np.bincount(i, weight, n) + np.bincount(j, weight, n)
    return np.asarray(degree[:, None] * items - weights @ items)


def far_pair(items: Floats, start: int) -> tuple[int, int]:
    """Two rows that are far apart, if not the farthest: who is farthest from the start, and who from that one.

    >>> far_pair(np.array([[0.0], [5.0], [-1.0], [2.0]]), start=3)
    (1, 2)
    """
    size = (items**2).sum(axis=1)
    first = int((size - 2 * items @ items[start]).argmax())
    second = int((size - 2 * items @ items[first]).argmax())
    return min(first, second), max(first, second)


def farthest_pair(items: Floats) -> tuple[int, int]:
    """The two rows that are farthest apart; of nearly equal distances, any: products are of 32 bits, for speed.

    >>> farthest_pair(np.array([[0.0], [5.0], [-1.0], [2.0]]))
    (1, 2)
    """
    short = (items - items.mean(axis=0)).astype(np.float32)
    size = (short**2).sum(axis=1)
    best, pair = -1.0, (0, 0)
    rows = max(min(AT_ONCE // len(short), len(short) // BLOCKS), 1)
    for start in range(0, len(short), rows):  # row blocks, each with the rows from its own start on
        block = short[start : start + rows]
        apart = (size[start : start + rows, None] + size[start:]) - 2 * block @ short[start:].T
        place = int(apart.argmax())
        if apart.flat[place] > best:
            best = float(apart.flat[place])
            pair = (start + place // apart.shape[1], start + place % apart.shape[1])
    return pair
