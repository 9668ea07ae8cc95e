"""Spectral partitions: rings that k-means cannot tell apart, groups, nothing to part; eigenvectors against others'."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.manifold import spectral_embedding
from torch import Tensor, nn

from likewise.criteria import MCL
from likewise.supervision import (
    consensus_objective,
    cosine_affinity,
    diffusion_rows,
    partitions,
    spectral_opinions,
    spectral_partition,
)
from likewise.supervision.partitions import consensus, spectral_rows
from likewise.training import Batch


def agrees(found: np.ndarray, truth: np.ndarray) -> bool:
    return bool(np.array_equal(found[:, None] == found, truth[:, None] == truth))


def test_affinity_is_the_kernel_of_cosines() -> None:
    z = np.random.default_rng(0).normal(size=(4, 3))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    found = cosine_affinity(z)
    for i in range(4):
        for j in range(4):
            assert found[i, j] == pytest.approx(np.exp((float(z[i] @ z[j]) - 1) / 0.3))


def test_two_rings() -> None:
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], 1)
    points, truth = np.concatenate([ring, 3 * ring]), np.repeat([0, 1], 60)
    apart = ((points[:, None] - points) ** 2).sum(2)
    order = np.random.default_rng(0).permutation(120)
    found = spectral_partition(np.exp(-apart / 0.1)[order][:, order], 2)
    assert agrees(found, truth[order])


@pytest.mark.parametrize("n_classes", [3, 12])
def test_groups_on_a_sphere(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    truth = random.permutation(np.arange(20 * n_classes) % n_classes)
    z = random.normal(size=(n_classes, 32))[truth] + 0.3 * random.normal(size=(len(truth), 32))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    found = spectral_partition(cosine_affinity(z), n_classes)
    assert agrees(found, truth)
    assert set(found) == set(range(n_classes))
    assert np.array_equal(found, spectral_partition(cosine_affinity(z), n_classes))


def test_as_many_classes_as_items() -> None:
    assert agrees(spectral_partition(np.ones((3, 3)), 5), np.arange(3))


def test_an_item_like_no_other_is_no_error() -> None:
    affinity = np.kron(np.eye(3), np.ones((4, 4)))
    affinity[11] = affinity[:, 11] = 0
    found = spectral_partition(affinity, 3)
    assert agrees(found[:11], np.repeat([0, 1, 2], 4)[:11])


def test_rows_are_those_of_numpy_and_scikit_learn() -> None:
    random = np.random.default_rng(2)
    z = random.normal(size=(15, 4))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    affinity = cosine_affinity(z)
    kept = affinity.copy()
    found = spectral_rows(affinity, 4)
    np.testing.assert_array_equal(affinity, kept)

    plain = np.array([[0 if i == j else affinity[i, j] for j in range(15)] for i in range(15)])
    degree = plain.sum(1)
    plain = np.array([[plain[i, j] / np.sqrt(degree[i] * degree[j]) for j in range(15)] for i in range(15)])
    values, vectors = np.linalg.eigh(plain)
    largest = vectors[:, np.argsort(values)[-4:]]
    largest /= np.linalg.norm(largest, axis=1, keepdims=True)
    theirs = spectral_embedding(affinity, n_components=4, drop_first=False, random_state=0)
    theirs /= np.linalg.norm(theirs, axis=1, keepdims=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
    for rows in (largest, theirs):  # eigenvectors may differ in their signs, angles between rows may not
        np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-6)


def test_opinions_are_of_each_affinity() -> None:
    first, second = np.arange(24) % 3, np.arange(24) // 8
    affinities = [0.01 + (group[:, None] == group) for group in (first, second)]
    opinions = spectral_opinions(affinities, 3)
    assert opinions.shape == (24, 8)
    assert opinions.dtype == np.int64
    assert all(agrees(column, first) for column in opinions.T[:4])
    assert all(agrees(column, second) for column in opinions.T[4:])
    assert all(agrees(column, first) for column in spectral_opinions(affinities[:1], 3).T)
    assert spectral_opinions(affinities[:1], 3).shape == (24, 8)


def test_opinions_differ_where_clusters_are_hard_to_tell_apart_and_the_seed_decides() -> None:
    z = np.random.default_rng(0).normal(size=(60, 8))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    opinions = spectral_opinions([cosine_affinity(z)], 6)
    assert len({tuple(np.unique(column, return_index=True)[1]) for column in opinions.T}) > 1
    assert all(set(column) == set(range(6)) for column in opinions.T)
    np.testing.assert_array_equal(opinions, spectral_opinions([cosine_affinity(z)], 6))
    np.testing.assert_array_equal(opinions[:, 1:], spectral_opinions([cosine_affinity(z)], 6, seed=1)[:, :-1])


def test_opinions_of_as_many_classes_as_items() -> None:
    np.testing.assert_array_equal(spectral_opinions([np.ones((3, 3))] * 2, 3), [[0], [1], [2]])


def test_diffusion_brings_the_items_of_a_class_together() -> None:
    random = np.random.default_rng(3)
    truth = np.repeat(np.arange(6), 25)
    z = random.normal(size=(6, 16))[truth] + 0.3 * random.normal(size=(len(truth), 16))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    rows = diffusion_rows(z)
    same = truth[:, None] == truth

    def apart(points: np.ndarray) -> float:
        squares = ((points[:, None] - points) ** 2).sum(2)
        return float(squares[~same].mean() / squares[same].mean())

    assert apart(rows) > apart(z)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


def test_diffusion_is_a_matrix_power_of_the_walk() -> None:
    z = np.random.default_rng(4).normal(size=(40, 5))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    a = np.exp((z @ z.T - 1) / 0.1)
    np.fill_diagonal(a, 0)
    symmetric = a / np.sqrt(np.outer(a.sum(1), a.sum(1)))
    values, vectors = np.linalg.eigh(symmetric)
    walked = vectors @ np.diag(np.maximum(values, 0) ** 1.5) @ vectors.T  # the products of U l^0.75
    length = np.sqrt(np.diag(walked))
    rows = diffusion_rows(z)
    np.testing.assert_allclose(rows @ rows.T, walked / np.outer(length, length), atol=1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_diffusion_of_few_items(n: int) -> None:
    assert np.isfinite(diffusion_rows(np.eye(n))).all()


def test_a_large_pile_has_the_same_rows_by_products_with_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    z = random.normal(size=(6, 16))[np.arange(300) % 6] + 0.5 * random.normal(size=(300, 16))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    found = []
    for least in (1000, 100):
        monkeypatch.setattr(partitions, "LANCZOS_FROM", least)
        found.append((spectral_rows(cosine_affinity(z), 6), diffusion_rows(z)))
    for whole, products in zip(*found, strict=True):
        np.testing.assert_allclose(products @ products.T, whole @ whole.T, atol=1e-6)


def test_where_products_do_not_lead_to_an_end_the_whole_matrix_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(*given: object, **further: object) -> None:
        raise ArpackNoConvergence("no end", np.zeros(0), np.zeros((0, 0)))

    monkeypatch.setattr(partitions, "LANCZOS_FROM", 1)
    monkeypatch.setattr(partitions, "eigsh", stuck)
    assert agrees(spectral_partition(np.kron(np.eye(3), np.ones((4, 4))), 3), np.repeat([0, 1, 2], 4))


OPINIONS = torch.randint(3, (9, 5), generator=torch.Generator().manual_seed(0))


class Fixed(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.logits


def agreed(i: int, j: int) -> float:
    return sum(int(OPINIONS[i, r] == OPINIONS[j, r]) for r in range(5)) / 5


def test_consensus_is_the_share_of_partitions_that_agree() -> None:
    found = consensus(OPINIONS)
    for i in range(9):
        for j in range(9):
            assert float(found[i, j]) == pytest.approx(agreed(i, j))


def test_one_partition_says_yes_or_no_and_its_numbers_do_not_matter() -> None:
    one = OPINIONS[:, :1]
    assert set(consensus(one).unique().tolist()) == {0.0, 1.0}
    assert torch.equal(consensus(one), consensus(7 - one))


def test_the_objective_is_of_the_items_at_hand_and_not_of_their_labels() -> None:
    index = [4, 0, 4, 7]  # one of them twice
    network = Fixed(torch.randn(4, 3, generator=torch.Generator().manual_seed(1)))
    labels = torch.tensor([0, 1, 2, 0])
    loss, logits = consensus_objective(OPINIONS, MCL())(network, Batch(torch.zeros(4, 1), labels, torch.tensor(index)))
    p = network.logits.detach().double().softmax(1).tolist()
    total = 0.0
    for a in range(4):
        for b in range(a):
            s = sum(p[a][k] * p[b][k] for k in range(3))
            target = agreed(index[a], index[b])
            total -= target * math.log(s) + (1 - target) * math.log(1 - s)
    assert float(loss.detach()) == pytest.approx(total / 6, rel=1e-5)
    assert logits is network.logits
    loss.backward()  # type: ignore[no-untyped-call]
    assert network.logits.grad is not None
    assert network.logits.grad.abs().min() > 0
