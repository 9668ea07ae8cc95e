"""How well items hold together without answers: around means, on the unit sphere, or as neighbours in a graph.

    Means       F(l) = -c/2 sum_i ||x_i - mu_{l_i}||^2                        in units of the mean ||x_i - mean||^2
    Sphere      F(l) = c sum_k |sum_{i in k} x_i|                             |x_i| = 1
    Neighbours  F(l) = c/2 sum_k (sum_{i, j in k} G_ij - d_k^2 / D)           d_k = sum_{i in k} d_i,  D = sum_i d_i

The first is k-means, the second spherical k-means (Dhillon and Modha, 2001), the third modularity (Newman, 2006) with
the degrees d_i = sum_j G_ij. Each says what joining two groups of items is worth (`gains`), and where an item belongs
while the others stay (`logits`). `c` is how much geometry weighs against an answer.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh
from sklearn.covariance import ledoit_wolf
from sklearn.neighbors import NearestNeighbors

from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.lsc import unit_rows

MEANS, SPHERE, NEIGHBOURS = 20.0, 12.0, 6.0  # c for single items: with half of it they drift between clusters


class Groups(Protocol):
    """M groups of items, which can be joined one by one."""

    def gains(self) -> Floats:
        """(M, M) What F gains when two groups are joined."""

    def join(self, into: int, other: int) -> None: ...

    def gains_of(self, group: int) -> Floats:
        """(M,) The row of `gains` of one group."""

    def places(self, cluster: Ints, n_clusters: int) -> Floats:
        """(M, K) What F has of each group in each cluster, while all others stay in theirs (M,)."""


class Geometry(Protocol):
    def groups(self, labels: Ints, n_groups: int) -> Groups: ...

    def logits(self, posterior: Floats) -> Floats:
        """(n, K) How much each item prefers each cluster, given the clusters (n, K) of the others."""


class Means:
    def __init__(self, rows: Floats, strength: float) -> None:
        centred = rows - rows.mean(axis=0)
        unit = float(np.sqrt((centred**2).sum(axis=1).mean())) or 1.0
        self.rows, self.strength = centred / unit, strength  # (n, d)

    def groups(self, labels: Ints, n_groups: int) -> Groups:
        belongs = members(labels, n_groups)
        sizes = np.bincount(labels, minlength=n_groups).astype(np.float64)
        return _MeanGroups(belongs.T @ self.rows, sizes, self.strength)

    def logits(self, posterior: Floats) -> Floats:
        means = (posterior.T @ self.rows) / np.maximum(posterior.sum(axis=0), 1e-12)[:, None]  # (K, d)
        return np.asarray(MEANS * (self.rows @ means.T - (means**2).sum(axis=1) / 2))


class _MeanGroups:
    """F is c/2 sum_k |S_k|^2 / n_k, up to a constant, with the sums S_k (M, d) and the sizes n_k (M,)."""

    def __init__(self, sums: Floats, sizes: Floats, strength: float) -> None:
        self.sums, self.sizes, self.strength = sums, sizes, strength

    def gains(self) -> Floats:
        return self._gains((self.sums**2).sum(axis=1)[:, None], self.sizes[:, None], self.sums @ self.sums.T)

    def gains_of(self, group: int) -> Floats:
        return self._gains((self.sums[group] ** 2).sum(), self.sizes[group], self.sums @ self.sums[group])

    def _gains(self, square: Floats, size: Floats, product: Floats) -> Floats:
        squares = (self.sums**2).sum(axis=1)
        joined = (square + squares + 2 * product) / (size + self.sizes)
        return np.asarray(self.strength / 2 * (joined - square / size - squares / self.sizes))

    def places(self, cluster: Ints, n_clusters: int) -> Floats:
        own = np.eye(n_clusters)[cluster]  # (M, K)
        square = (self.sums**2).sum(axis=1)[:, None]
        sums = own.T @ self.sums  # (K, d)
        product = self.sums @ sums.T - own * square  # with the others of each cluster
        others = np.maximum((sums**2).sum(axis=1) - own * (2 * product + square), 0)
        size = own.T @ self.sizes - own * self.sizes[:, None]
        with_it = (others + 2 * product + square) / (size + self.sizes[:, None])
        return np.asarray(self.strength / 2 * (with_it - others / np.maximum(size, 1)))

    def join(self, into: int, other: int) -> None:
        self.sums[into] += self.sums[other]
        self.sizes[into] += self.sizes[other]


class Sphere:
    def __init__(self, rows: Floats, strength: float) -> None:
        self.rows, self.strength = rows, strength  # (n, d) of length 1

    def groups(self, labels: Ints, n_groups: int) -> Groups:
        return _SphereGroups(members(labels, n_groups).T @ self.rows, self.strength)

    def logits(self, posterior: Floats) -> Floats:
        return np.asarray(SPHERE * (self.rows @ unit_rows(posterior.T @ self.rows).T))


class _SphereGroups:
    def __init__(self, sums: Floats, strength: float) -> None:
        self.sums, self.strength = sums, strength  # (M, d)
        self.lengths = np.sqrt((sums**2).sum(axis=1))

    def gains(self) -> Floats:
        return self._gains(self.lengths[:, None], self.sums @ self.sums.T)

    def gains_of(self, group: int) -> Floats:
        return self._gains(self.lengths[group], self.sums @ self.sums[group])

    def _gains(self, length: Floats, product: Floats) -> Floats:
        joined = np.sqrt(np.maximum(length**2 + self.lengths**2 + 2 * product, 0))
        return np.asarray(self.strength * (joined - length - self.lengths))

    def places(self, cluster: Ints, n_clusters: int) -> Floats:
        own = np.eye(n_clusters)[cluster]  # (M, K)
        sums = own.T @ self.sums  # (K, d)
        product = self.sums @ sums.T - own * self.lengths[:, None] ** 2  # with the others of each cluster
        others = (sums**2).sum(axis=1) - own * (2 * product + self.lengths[:, None] ** 2)
        with_it = np.sqrt(np.maximum(others + 2 * product + self.lengths[:, None] ** 2, 0))
        return np.asarray(self.strength * (with_it - np.sqrt(np.maximum(others, 0))))

    def join(self, into: int, other: int) -> None:
        self.sums[into] += self.sums[other]
        self.lengths[into] = np.sqrt((self.sums[into] ** 2).sum())


class Neighbours:
    def __init__(self, graph: csr_array, strength: float) -> None:
        self.graph, self.strength = graph, strength
        self.degree = np.asarray(graph.sum(axis=1)).ravel()  # (n,)
        self.total = float(self.degree.sum()) or 1.0

    def groups(self, labels: Ints, n_groups: int) -> Groups:
        belongs = members(labels, n_groups)
        edges = (belongs.T @ self.graph @ belongs).toarray()
        return _NeighbourGroups(edges, belongs.T @ self.degree, self.total, self.strength)

    def logits(self, posterior: Floats) -> Floats:
        expected = self.degree[:, None] * (self.degree @ posterior) / self.total
        return np.asarray(NEIGHBOURS * (self.graph @ posterior - expected))


class _NeighbourGroups:
    def __init__(self, edges: Floats, degree: Floats, total: float, strength: float) -> None:
        self.edges, self.degree, self.total, self.strength = edges, degree, total, strength

    def gains(self) -> Floats:
        return np.asarray(self.strength * (self.edges - np.outer(self.degree, self.degree) / self.total))

    def gains_of(self, group: int) -> Floats:
        return np.asarray(self.strength * (self.edges[group] - self.degree[group] * self.degree / self.total))

    def places(self, cluster: Ints, n_clusters: int) -> Floats:
        own = np.eye(n_clusters)[cluster]
        edges = self.edges @ own - own * np.diag(self.edges)[:, None]
        degree = own.T @ self.degree - own * self.degree[:, None]
        return np.asarray(self.strength * (edges - self.degree[:, None] * degree / self.total))

    def join(self, into: int, other: int) -> None:
        self.edges[into] += self.edges[other]
        self.edges[:, into] += self.edges[:, other]
        self.degree[into] += self.degree[other]


def whitened_within(rows: Floats, posterior: Floats) -> Floats:
    """(n, d) The rows in a space in which clusters (n, K) are round: their common covariance S becomes the identity.

        z = S^-1/2 x,     S = sum_i p_i (x_i - mean of its cluster)(x_i - mean of its cluster)' / sum_i p_i

    p_i is how sure the cluster of an item is; S is shrunk as Ledoit and Wolf (2004) have it. Directions in which
    classes are wide say little about them: it is linear discriminant analysis, with clusters in place of labels.
    """
    cluster, sure = posterior.argmax(1), posterior.max(1)
    weight = np.eye(posterior.shape[1])[cluster] * sure[:, None]  # (n, K)
    means = weight.T @ rows / np.maximum(weight.sum(axis=0), 1e-12)[:, None]
    spread = (rows - means[cluster]) * np.sqrt(sure / sure.mean())[:, None]
    values, vectors = np.linalg.eigh(ledoit_wolf(spread, assume_centered=True)[0])
    scale = 1 / np.sqrt(np.maximum(values, 1e-12 * values.max() or 1.0))
    return np.asarray((rows @ vectors) * scale @ vectors.T)


def members(labels: Ints, n_groups: int) -> csr_array:
    """(n, M) 1 where an item is in a group."""
    n = len(labels)
    return csr_array((np.ones(n), labels, np.arange(n + 1)), shape=(n, n_groups))


def nearest(rows: Floats, neighbours: int) -> Ints:
    """(n, k) The nearest other rows of each, nearest first."""
    k = min(neighbours, len(rows) - 1)
    near = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows.astype(np.float32)).kneighbors()[1]
    return np.asarray(near, dtype=np.int64)


def shared_neighbours(near: Ints) -> csr_array:
    """(n, n) The graph of neighbours (n, k), each edge weighed by the share in common, and by the degrees' roots.

        S_ij = |N_i and N_j| / |N_i or N_j|  where one of i, j is near the other,     G = D^-1/2 S D^-1/2

    N_i is i with its nearest items. Two items of one class have neighbours in common more often than two that happen to
    be near (Jarvis and Patrick, 1973).
    """
    n, k = near.shape
    near = np.concatenate([np.arange(n)[:, None], near], axis=1)  # (n, k + 1)
    one_way = csr_array((np.ones(near.size), near.ravel(), np.arange(0, near.size + 1, k + 1)), shape=(n, n))
    common = (one_way @ one_way.T).multiply(one_way.maximum(one_way.T)).tocsr()
    common.data /= 2 * (k + 1) - common.data
    common.setdiag(0)
    common.eliminate_zeros()
    scale = diags_array(1 / np.sqrt(np.maximum(common.sum(axis=1), 1e-12)))
    return csr_array(scale @ common @ scale)


def diffusion(graph: csr_array, n_vectors: int, power: float = 0.75) -> Floats:
    """(n, d) Where a walk from neighbour to neighbour puts each item, at length 1: eigenvectors of G times l^power."""
    n = graph.shape[0]
    if n <= 2 * n_vectors:
        values, vectors = eigh(graph.toarray(), subset_by_index=[max(0, n - n_vectors), n - 1])
    else:
        start = np.random.default_rng(0).normal(size=n)
        values, vectors = eigsh(graph, n_vectors, which="LA", v0=start, tol=1e-4)
    return unit_rows(vectors * np.maximum(values, 0) ** power)
