"""Kernel k-means: k-means where only products of items are known.

    J = sum_i ||phi_i - mu_{l_i}||^2,     ||phi_i - mu_h||^2 = K_ii - 2 mean_{j in h} K_ij + mean_{j, k in h} K_jk

Schoelkopf, Smola and Mueller, Nonlinear component analysis as a kernel eigenvalue problem, 1998. Starts are drawn as
k-means++ draws them: each centre an item, chosen in proportion to its squared distance from those before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.method import Seed


class Partition(NamedTuple):
    labels: Ints  # (n,)
    objective: list[float]  # J at each step; never rises


def kernel_k_means(
    kernel: Floats, n_clusters: int, n_init: int = 10, random_state: Seed = 0, max_iter: int = 300
) -> Partition:
    """The best of some starts.

    >>> items = np.array([[0.0], [1.0], [8.0], [9.0]])
    >>> labels, objective = kernel_k_means(items @ items.T, n_clusters=2)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3]), round(objective[-1], 6)
    (True, 1.0)
    """
    random = check_random_state(random_state)
    partitions = [_descend(kernel, _start(kernel, n_clusters, random), n_clusters, max_iter) for _ in range(n_init)]
    return min(partitions, key=lambda partition: partition.objective[-1])


def _start(kernel: Floats, n_clusters: int, random: np.random.RandomState) -> Ints:
    """The nearest of K items, each drawn in proportion to its squared distance from those drawn before."""
    size = np.diag(kernel)
    n = len(kernel)
    nearest, labels = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    chosen = int(random.randint(n))
    for cluster in range(n_clusters):
        distance = np.maximum(size + size[chosen] - 2 * kernel[chosen], 0.0)
        labels = np.where(distance < nearest, cluster, labels)
        nearest = np.minimum(distance, nearest)
        labels[chosen], nearest[chosen] = cluster, 0.0  # its own, also where another item is at its place
        total = float(nearest.sum())
        chosen = int(random.choice(n, p=nearest / total)) if total > 0 else int(random.randint(n))
    return labels


def _descend(kernel: Floats, labels: Ints, n_clusters: int, max_iter: int) -> Partition:
    """Lloyd's updates until nothing moves."""
    size = np.diag(kernel)
    rows = np.arange(len(kernel))
    objective: list[float] = []
    for _ in range(max_iter):
        member = labels[:, None] == np.arange(n_clusters)  # (n, K)
        count = np.maximum(member.sum(axis=0), 1)
        mean = kernel @ (member / count)  # (n, K) mean_{j in h} K_ij
        spread = (member * mean).sum(axis=0) / count  # (K,) mean_{j, k in h} K_jk
        distance = size[:, None] - 2 * mean + np.where(member.any(axis=0), spread, np.inf)
        objective.append(float(distance[rows, labels].sum()))
        moved = distance.argmin(axis=1)
        labels = _fill_empty(moved, distance, n_clusters)
        if (labels == member.argmax(axis=1)).all():
            break
    return Partition(labels, objective)


def _fill_empty(labels: Ints, distance: Floats, n_clusters: int) -> Ints:
    """A cluster that lost all its items is given the one that lies farthest from its centre, from a cluster of more."""
    labels = labels.copy()
    own = distance[np.arange(len(labels)), labels]
    for empty in np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0):
        spare = np.bincount(labels, minlength=n_clusters)[labels] > 1
        farthest = int(np.where(spare, own, -np.inf).argmax())
        labels[farthest], own[farthest] = empty, 0.0
    return labels
