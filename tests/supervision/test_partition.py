"""The first partition: on rings that k-means cannot tell apart, on groups, and where there is nothing to part."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.supervision import cosine_affinity, spectral_partition


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
