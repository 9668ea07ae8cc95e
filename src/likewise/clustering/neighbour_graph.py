"""The graph of nearest neighbours: who is near whom, as a sparse matrix of weights."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.sparse import coo_array, csr_array
from sklearn.neighbors import NearestNeighbors

from likewise.clustering.constraints import Floats


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
