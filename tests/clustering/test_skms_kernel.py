"""The kernel of SKMS, against Bregman's projections on the kernel matrix itself, one pair at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise import Pairs
from likewise.clustering import Constraints, read_constraints
from likewise.clustering.distances import all_distances, gaussian
from likewise.clustering.skms_kernel import FAR, NEAR, WIDTHS, best_width, learn_kernel

Array = NDArray[np.float64]


def projected(kernel: Array, given: Constraints, near: float, far: float, gamma: float) -> Array:
    """Anand et al., algorithm 1: K changes by a matrix of rank 1 for each pair, until nothing changes."""
    pairs = [(*pair, 1.0, near, w) for pair, w in zip(given.must_link, given.must_weight, strict=True)]
    pairs += [(*pair, -1.0, far, w) for pair, w in zip(given.cannot_link, given.cannot_weight, strict=True)]
    K, multiplier, xi = kernel.copy(), np.zeros(len(pairs)), np.array([pair[3] for pair in pairs])
    for _ in range(5000):
        largest = 0.0
        for p, (i, j, sign, _, weight) in enumerate(pairs):
            distance = K[i, i] + K[j, j] - 2 * K[i, j]
            pays = gamma * weight
            step = min(multiplier[p], sign * pays / (pays + 1) * (1 / distance - 1 / xi[p]))
            multiplier[p] -= step
            xi[p] = 1 / (1 / xi[p] + sign * step / pays)
            column = K[:, i] - K[:, j]
            K += sign * step / (1 - sign * step * distance) * np.outer(column, column)
            largest = max(largest, abs(step) * distance)
        if largest < 1e-10:
            return K
    raise AssertionError("the projections did not converge")


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_the_limit_of_the_projections(gamma: float) -> None:
    random = np.random.default_rng(3)
    items = random.normal(size=(9, 4))
    index = random.integers(0, 9, (14, 2))
    given = read_constraints(Pairs.from_arrays(index, random.integers(0, 2, 14), random.uniform(0.5, 2, 14)), 9)
    learned = learn_kernel(items, given, gamma, energy=1.0, tol=1e-6)
    start = gaussian(all_distances(items), learned.width)
    expected = projected(start, given, learned.near, learned.far, gamma)
    np.testing.assert_allclose(learned.features @ learned.features.T, expected, atol=1e-4)
    assert np.abs(expected - start).max() > 0.1


def test_the_width_of_the_least_divergence() -> None:
    items = np.random.default_rng(1).normal(size=(20, 2))
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3)], [(4, 5), (6, 7)]), 20)
    squared = all_distances(items)
    median = np.median(squared[np.triu_indices(20, 1)])

    def cost(width: float) -> float:
        total = 0.0
        for (i, j), bound in [((0, 1), NEAR), ((2, 3), NEAR), ((4, 5), FAR), ((6, 7), FAR)]:
            ratio = (2 - 2 * np.exp(-((items[i] - items[j]) ** 2).sum() / width)) / bound
            total += ratio - np.log(ratio) - 1
        return total

    assert best_width(squared, given) == pytest.approx(min((m * median for m in WIDTHS), key=cost))


def test_bounds_are_percentiles_or_what_is_nearer_to_the_ends() -> None:
    items = np.random.default_rng(2).normal(size=(50, 1))
    learned = learn_kernel(items, read_constraints(None, 50))
    distances = 2 - 2 * gaussian(all_distances(items), learned.width)[np.triu_indices(50, 1)]
    assert learned.near == min(np.percentile(distances, 1), 0.05)
    assert learned.far == max(np.percentile(distances, 99), 1.95)


def test_no_pairs_leave_the_gaussian_kernel() -> None:
    items = np.random.default_rng(4).normal(size=(10, 2))
    learned = learn_kernel(items, read_constraints(None, 10), energy=1.0)
    expected = gaussian(all_distances(items), learned.width)
    np.testing.assert_allclose(learned.features @ learned.features.T, expected, atol=1e-8)


def test_scale_and_rotation_are_not_seen() -> None:
    random = np.random.default_rng(5)
    items, turn = random.normal(size=(10, 3)), np.linalg.qr(random.normal(size=(3, 3)))[0]
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3)], [(0, 2), (4, 5)]), 10)
    kernels = [
        learned.features @ learned.features.T
        for learned in (
            learn_kernel(items, given, energy=1.0, tol=1e-6),
            learn_kernel(1000 * items @ turn + 3, given, energy=1.0, tol=1e-6),
        )
    ]
    np.testing.assert_allclose(kernels[0], kernels[1], atol=2e-3)


def test_items_at_one_place_that_should_be_apart() -> None:
    items = np.array([[0.0], [0.0], [1.0], [2.0]])
    given = read_constraints(Pairs.from_links([(2, 3)], [(0, 1)]), 4)
    features = learn_kernel(items, given).features
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[0], features[1])
