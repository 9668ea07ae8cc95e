"""Mean shift, against its formulas one item at a time."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise.clustering.gaussian_kernel import all_distances
from likewise.clustering.mean_shift import reaches, shift_to_modes

Array = NDArray[np.float64]

X, y = make_blobs(90, centers=3, cluster_std=0.5, random_state=4)


def density(place: Array, items: Array, reach: Array) -> float:
    total = 0.0
    for item, h in zip(items, reach, strict=True):
        u = ((place - item) ** 2).sum() / h**2
        total += np.exp(-u / 2) - np.exp(-0.5) if u < 1 else 0.0
    return total


def shifted(place: Array, items: Array, reach: Array) -> Array:
    above, below = np.zeros(items.shape[1]), 0.0
    for item, h in zip(items, reach, strict=True):
        u = ((place - item) ** 2).sum() / h**2
        if u <= 1 + 1e-9:
            above, below = above + np.exp(-u / 2) / h**2 * item, below + np.exp(-u / 2) / h**2
    return above / below


def test_a_step() -> None:
    reach = reaches(all_distances(X), 10)
    places = shift_to_modes(X, reach, merge=0.1, max_iter=1).places
    np.testing.assert_allclose(places, [shifted(x, X, reach) for x in X])


def test_the_density_never_falls() -> None:
    reach = reaches(all_distances(X), 10)
    heights = np.array(
        [
            [density(place, X, reach) for place in shift_to_modes(X, reach, merge=0.1, max_iter=steps).places]
            for steps in (1, 2, 3, 5, 300)
        ]
    )
    assert (np.diff(heights, axis=0) >= -1e-9).all()
    assert (heights[-1] > heights[0] + 0.1).any()


def test_it_ends_where_it_would_stay() -> None:
    reach = reaches(all_distances(X), 10)
    places = shift_to_modes(X, reach, merge=0.1, tolerance=1e-8, max_iter=5000).places
    np.testing.assert_allclose(places, [shifted(place, X, reach) for place in places], atol=1e-6)


def test_groups_are_found_and_counted() -> None:
    labels = shift_to_modes(X, reaches(all_distances(X), 25), merge=0.1).labels
    assert adjusted_rand_score(y, labels) == 1


@pytest.mark.parametrize("move", [np.array([1000.0, -500.0])])
def test_a_shift_of_the_items_is_not_seen(move: Array) -> None:
    reach = reaches(all_distances(X), 15)
    np.testing.assert_array_equal(
        shift_to_modes(X, reach, merge=0.1).labels, shift_to_modes(X + move, reach, merge=0.1).labels
    )


def test_the_reach_is_the_distance_to_a_neighbour() -> None:
    squared = all_distances(X)
    np.testing.assert_allclose(reaches(squared, 4), [np.sqrt(sorted(row)[4]) for row in squared])
    assert reaches(all_distances(np.array([[0.0], [0.0], [3.0]])), 1).tolist() == [
        3.0,
        3.0,
        3.0,
    ]  # as no other is above 0
