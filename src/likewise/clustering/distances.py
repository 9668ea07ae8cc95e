"""Distances of listed pairs, Gaussian kernels and their factors, and the graph of nearest neighbours."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import NearestNeighbors

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
    """Two rows that are far apart, if not the farthest: the farthest from the start, and the farthest from that.

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


# Gaussian kernels, and their factors of lower rank.
#
#     K_ij = exp(-||x_i - x_j||^2 / (2 sigma^2)),     K = G G',  G (n, r)
#
# In the plane of the kernel every item has length 1, and two have the squared distance 2 - 2 K_ij, from 0 to 2.
def all_distances(items: Floats) -> Floats:
    """(n, n) The squared distances of all items; symmetric, 0 on the diagonal, never below it.

    >>> all_distances(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist()
    [[0.0, 25.0], [25.0, 0.0]]
    """
    centred = items - items.mean(axis=0)  # less is lost to rounding where the items are far from 0
    gram = centred @ centred.T
    size = np.diag(gram)
    squared = np.maximum(size[:, None] + size - (gram + gram.T), 0.0)
    np.fill_diagonal(squared, 0.0)
    return np.asarray(squared)


def median_distance(squared: Floats) -> float:
    """The median squared distance of items that are not at one place; 1 where all are."""
    upper = squared[np.triu_indices_from(squared, 1)]
    apart = upper[upper > 0]
    return float(np.median(apart)) if len(apart) else 1.0


def gaussian(squared: Floats, width: float) -> Floats:
    """The kernel of squared distances, with width = 2 sigma^2."""
    return np.asarray(np.exp(-squared / width))


def locally_scaled(squared: Floats, neighbour: int) -> Floats:
    """K_ij = exp(-||x_i - x_j||^2 / (sigma_i sigma_j)), sigma_i the distance to the neighbour of that number.

    Zelnik-Manor and Perona, Self-tuning spectral clustering, 2004. Not always positive semidefinite: see `factor`.
    """
    reach = np.sqrt(
        np.partition(squared, min(neighbour, len(squared) - 1), axis=1)[:, min(neighbour, len(squared) - 1)]
    )
    reach = np.where(reach > 0, reach, np.sqrt(median_distance(squared)))  # as many items at one place
    return np.asarray(np.exp(-squared / np.outer(reach, reach)))


def factor(kernel: Floats, energy: float) -> Floats:
    """(n, r) G of the best G G' of the least rank that keeps this share of the kernel's eigenvalues.

    Negative eigenvalues, which rounding or local scaling leave, are dropped.

    >>> factor(np.diag([4.0, 5.0, 1.0]), energy=0.9).round(6).tolist()
    [[0.0, 2.0], [2.236068, 0.0], [0.0, 0.0]]
    """
    value, vector = eigh(kernel)
    value, vector = np.maximum(value[::-1], 0.0), vector[:, ::-1]
    share = np.cumsum(value) / value.sum()
    rank = min(int(np.searchsorted(share, energy * (1 - 1e-12))) + 1, int((value > 1e-12 * value[0]).sum()))
    signs = np.sign(vector[np.abs(vector[:, :rank]).argmax(axis=0), np.arange(rank)])  # the same on every machine
    return np.asarray(vector[:, :rank] * (signs * np.sqrt(value[:rank])))


# The graph of nearest neighbours: who is near whom, as a sparse matrix of weights.
def neighbour_graph(items: Floats, neighbours: int, weights: Literal["one", "gaussian"]) -> csr_array:
    """(n, n) W, symmetric: i and j are joined where either is among the nearest of the other.

    "one": W_ij = 1. "gaussian": W_ij = exp(-||x_i - x_j||^2 / (s_i s_j)), where s_i is the distance from i to the last
    of its neighbours, so that the graph is the same at any scale of the items.

    >>> neighbour_graph(np.array([[0.0], [1.0], [3.0]]), 1, "one").toarray().tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    n = len(items)
    k = min(neighbours, n - 1)
    distance, nearest = NearestNeighbors(n_neighbors=k).fit(items).kneighbors()  # (n, k), without the item itself
    i, j = np.repeat(np.arange(n), k), nearest.ravel()
    if weights == "one":
        weight = np.ones(n * k)
    else:
        reach = distance[:, -1]
        reach = np.where(reach > 0, reach, reach[reach > 0].min(initial=1.0))
        weight = np.exp(-(distance.ravel() ** 2) / (reach[i] * reach[j]))
    one_way = coo_array((weight, (i, j)), shape=(n, n)).tocsr()
    return csr_array(one_way.maximum(one_way.T))
