"""Partitions of a pile by spectral clustering, and their consensus: each is an opinion on which items are the same.

    A = exp((cos - 1) / width),  D = diag(A 1),  U = the K largest eigenvectors of D^-1/2 A D^-1/2, rows of length 1

with A_ii = 0. k-means in U then sees what single pairs do not show: that two items have the same neighbours (Ng et al.,
2002). Of many starts, one of them Ward's clusters, the one with the least inertia is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import AgglomerativeClustering, KMeans
from torch import Tensor, nn

from likewise.supervision.answers import AnsweredBatch

Floats = NDArray[np.floating]
Labels = NDArray[np.int64]

STARTS = 20
LANCZOS_FROM = 1500  # items
OPINIONS = 8
WIDTH = 0.3  # of the kernel on cosines, measured best of 0.1, 0.2 and 0.3
DIFFUSION_WIDTH, DIFFUSION_VECTORS, DIFFUSION_POWER = 0.1, 100, 0.75  # counted characters best, of many tried


def cosine_affinity(embedding: Floats, width: float = WIDTH) -> Floats:
    """exp((cos - 1) / width) of all pairs of rows (n, d) of length 1."""
    return np.exp((embedding @ embedding.T - 1) / width)


def spectral_partition(affinity: Floats, n_classes: int, seed: int = 0) -> Labels:
    """A class from 0 to `n_classes` - 1 for each of n items, from how alike they are (n, n), 0 or more.

    >>> alike = np.array([[1, 0.9, 0.1, 0.2], [0.9, 1, 0.1, 0.1], [0.1, 0.1, 1, 0.8], [0.2, 0.1, 0.8, 1]])
    >>> labels = spectral_partition(alike, 2)
    >>> labels[0] == labels[1] != labels[2] == labels[3]
    np.True_
    """
    if n_classes >= len(affinity):
        return np.arange(len(affinity))
    return k_means(spectral_rows(affinity, n_classes), n_classes, seed)


def spectral_opinions(affinities: Sequence[Floats], n_classes: int, seed: int = 0) -> Labels:
    """Many partitions of the items, (n, R), each from one affinity (n, n) and its own start of k-means."""
    partitions = []
    for affinity in affinities:
        if n_classes >= len(affinity):
            return np.arange(len(affinity))[:, None]
        rows = spectral_rows(affinity, n_classes)
        each = OPINIONS // len(affinities)
        partitions += [
            KMeans(n_classes, n_init=2, random_state=seed + number).fit(rows).labels_ for number in range(each)
        ]
    return np.stack(partitions, axis=1).astype(np.int64)


def spectral_rows(affinity: Floats, n_classes: int) -> Floats:
    """U: where each item lies among the `n_classes` largest eigenvectors, (n, K), on the sphere."""
    return _on_the_sphere(_largest(affinity, n_classes)[1])


def diffusion_rows(embedding: Floats) -> Floats:
    """Where each item (n, d) lies for who counts classes: U with each eigenvector weighed by its eigenvalue l^0.75.

    A walk from neighbour to neighbour blurs what lies within a class first. It takes no number of classes, unlike
    `spectral_rows`: eigenvectors past the number of classes have small eigenvalues and hardly count.
    """
    affinity = cosine_affinity(embedding, DIFFUSION_WIDTH)
    values, vectors = _largest(affinity, min(DIFFUSION_VECTORS, len(affinity)))
    return _on_the_sphere(vectors * np.maximum(values, 0) ** DIFFUSION_POWER)


def _largest(affinity: Floats, count: int) -> tuple[Floats, Floats]:
    """The `count` largest eigenvalues of D^-1/2 A D^-1/2, rising, and their vectors (n, count).

    Of a large matrix by products with vectors, in time n^2; the other way takes n^3.
    """
    n = len(affinity)
    a = np.array(affinity, dtype=np.float64)
    np.fill_diagonal(a, 0)
    scale = 1 / np.sqrt(np.maximum(a.sum(1), np.finfo(np.float64).tiny))
    a *= scale[:, None]
    a *= scale
    if n >= LANCZOS_FROM and 2 * count < n:
        start = np.random.default_rng(0).normal(size=n)
        with suppress(ArpackNoConvergence):
            values, vectors = eigsh(a, count, which="LA", v0=start, tol=1e-9)
            order = np.argsort(values)
            return values[order], vectors[:, order]
    values, vectors = eigh(a, subset_by_index=[n - count, n - 1])
    return values, vectors


def _on_the_sphere(rows: Floats) -> Floats:
    on_it: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return on_it


def k_means(points: Floats, n_classes: int, seed: int = 0) -> Labels:
    """k-means of the least inertia, from random starts and from Ward's clusters."""
    joined = AgglomerativeClustering(n_classes).fit(points).labels_  # by Ward's method
    centres = np.stack([points[joined == k].mean(0) for k in range(n_classes)])
    partitions = [
        KMeans(n_classes, init=centres, n_init=1).fit(points),
        KMeans(n_classes, n_init=STARTS, random_state=seed).fit(points),
    ]
    labels: Labels = min(partitions, key=lambda one: one.inertia_).labels_.astype(np.int64)
    return labels


# Several partitions of a pile, each an opinion: two items are the same as far as the opinions agree that they are.
#
#     S(i, j) = share of the partitions that have i and j in one cluster
#
# One partition says 0 or 1 of every pair; where clusters are hard to tell apart, several differ, and S says so.
def consensus(opinions: Tensor) -> Tensor:
    """S (b, b) of opinions (b, R): the cluster of each item in each of R partitions.

    >>> import torch
    >>> consensus(torch.tensor([[0, 0], [0, 1], [1, 1]]))
    tensor([[1.0000, 0.5000, 0.0000],
            [0.5000, 1.0000, 0.5000],
            [0.0000, 0.5000, 1.0000]])
    """
    return (opinions[:, None] == opinions).float().mean(2)


def consensus_objective(
    opinions: Tensor, criterion: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train` of a classifier, with opinions (n, R) about all items; labels are not used.

    >>> import torch
    >>> from likewise.criteria import MCL
    >>> from likewise.training import Batch
    >>> opinions = torch.tensor([[0, 0], [0, 1], [1, 1]])  # two partitions of three items
    >>> batch = Batch(torch.randn(3, 5), torch.full((3,), -1), torch.arange(3))
    >>> loss, logits = consensus_objective(opinions, MCL())(nn.Linear(5, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([3, 2]))
    """

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        same = consensus(opinions[batch.index.to(opinions.device)]).to(logits.device)
        return criterion(logits.float(), same), logits

    return objective
