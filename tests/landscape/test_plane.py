"""Directions: each filter has the norm of the trained one, what is left out stays, and three solutions are met."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from likewise.errors import InputError
from likewise.landscape.plane import mutual_plane, random_direction, random_plane, weights_of

Lively = Callable[..., nn.Module]


def test_each_filter_has_the_norm_of_the_trained_one(lively: Lively) -> None:
    weights = weights_of(lively("lenet", 3, (1, 8, 8)), statistics=True)
    direction = random_direction(weights, seed=3)
    assert direction.keys() == weights.keys()
    filters = [name for name, weight in weights.items() if weight.ndim > 1]
    assert len(filters) == 4
    for name in filters:
        for mine, trained in zip(direction[name], weights[name], strict=True):
            torch.testing.assert_close(mine.norm(), trained.norm())
    for name in weights.keys() - set(filters):
        assert not direction[name].any()


def test_biases_are_moved_by_their_norm_where_wanted_and_statistics_never(lively: Lively) -> None:
    weights = weights_of(lively("lenet", 3, (1, 8, 8)), statistics=True)
    direction = random_direction(weights, seed=3, biases="normalised")
    for name in ("layers.1.weight", "layers.1.bias", "last.bias"):
        torch.testing.assert_close(direction[name].norm(), weights[name].norm())
    assert not direction["layers.1.running_mean"].any()
    assert not direction["layers.1.running_var"].any()


def test_a_filter_without_weights_has_no_direction() -> None:
    assert not random_direction({"w": torch.zeros(2, 3)}, seed=0)["w"].any()


def test_the_seed_decides_and_the_two_directions_are_independent(lively: Lively) -> None:
    weights = weights_of(lively("mlp", 3, (6,)), statistics=False)
    plane, again, other = (random_plane(weights, seed=seed) for seed in (1, 1, 2))
    name = "layers.1.weight"
    assert torch.equal(plane.delta[name], again.delta[name])
    assert torch.equal(plane.eta[name], again.eta[name])
    assert not torch.equal(plane.delta[name], other.delta[name])
    cosine = torch.cosine_similarity(plane.delta[name].flatten(), plane.eta[name].flatten(), 0)
    assert abs(float(cosine)) < 0.1


def test_a_mutual_plane_goes_through_all_three(lively: Lively) -> None:
    solutions = [weights_of(lively("mlp", 3, (6,), seed), statistics=True) for seed in range(3)]
    plane = mutual_plane(*solutions)
    for place, solution in zip([(0.0, 0.0), (1.0, 0.0), (0.0, 1.0)], solutions, strict=True):
        point = plane.at(*place)
        for name, weight in solution.items():
            torch.testing.assert_close(point[name], weight)


def test_an_unknown_treatment_of_biases_is_refused() -> None:
    with pytest.raises(InputError, match="biases must be left-out or normalised, got 'zero'"):
        random_direction({"w": torch.ones(2, 2)}, 0, biases="zero")  # type: ignore[arg-type]
