"""Gaussian kernels, and their factors of lower rank.

    K_ij = exp(-||x_i - x_j||^2 / (2 sigma^2)),     K = G G',  G (n, r)

In the plane of the kernel every item has length 1, and two have the squared distance 2 - 2 K_ij, from 0 to 2.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from likewise.clustering.constraints import Floats


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
