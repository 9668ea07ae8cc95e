"""Gaussian kernels and their factors, against the formulas entry by entry."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.clustering.gaussian_kernel import all_distances, factor, gaussian, locally_scaled, median_distance

X = np.random.default_rng(0).normal(size=(12, 3)) + 100


def test_distances_of_all() -> None:
    squared = all_distances(X)
    expected = [[((a - b) ** 2).sum() for b in X] for a in X]
    np.testing.assert_allclose(squared, expected, atol=1e-10)
    np.testing.assert_array_equal(squared, squared.T)
    assert (np.diag(squared) == 0).all()


def test_median_does_not_count_items_at_one_place() -> None:
    assert median_distance(all_distances(np.array([[0.0], [0.0], [0.0], [2.0]]))) == 4.0
    assert median_distance(np.zeros((3, 3))) == 1.0


def test_the_width_around_each_item() -> None:
    squared = all_distances(X)
    reach = [sorted(np.sqrt(row))[3] for row in squared]
    expected = [[np.exp(-squared[i, j] / (reach[i] * reach[j])) for j in range(12)] for i in range(12)]
    np.testing.assert_allclose(locally_scaled(squared, 3), expected)


def test_items_at_one_place_have_a_width_too() -> None:
    kernel = locally_scaled(all_distances(np.array([[0.0], [0.0], [0.0], [3.0]])), 1)
    assert np.isfinite(kernel).all()
    np.testing.assert_allclose(kernel[:3, :3], 1.0)


def test_a_factor_of_full_rank_is_the_kernel() -> None:
    kernel = gaussian(all_distances(X), 4.0)
    features = factor(kernel, energy=1.0)
    np.testing.assert_allclose(features @ features.T, kernel, atol=1e-10)


def test_a_factor_of_low_rank_is_the_nearest() -> None:
    kernel = gaussian(all_distances(X), 20.0)
    features = factor(kernel, energy=0.9)
    value = np.linalg.eigvalsh(kernel)[::-1]
    rank = features.shape[1]
    assert value[:rank].sum() >= 0.9 * value.sum() > value[: rank - 1].sum()
    error = np.sqrt(((features @ features.T - kernel) ** 2).sum())
    assert error == pytest.approx(np.sqrt((value[rank:] ** 2).sum()))  # Eckart and Young
