"""Directions: each filter has the norm of the trained one, what is left out stays, and three solutions are met.

The surface as arrays and as a file, and what is measured on it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from likewise.errors import InputError
from likewise.landscape import Surface, finite_range, rank_correlation, share_below
from likewise.landscape.surface import mutual_plane, random_direction, random_plane, weights_of

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


@pytest.fixture
def surface() -> Surface:
    values = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    values[1, 0, 0] = np.nan
    axes = np.linspace(-1, 1, 4), np.linspace(0, 2, 3)
    return Surface(*axes, ("mcl", "ce"), values, {"mcl": 0.3, "ce": 2.3}, {"runs": ["a"], "grid": 4}, 12.5)


def test_it_is_array_like_with_its_axes(surface: Surface) -> None:
    assert np.asarray(surface).shape == (2, 4, 3)
    assert np.array(surface, dtype=np.float64).dtype == np.float64
    assert surface["mcl"].tolist() == np.arange(12).reshape(4, 3).tolist()
    assert (surface.gaps("mcl"), surface.gaps("ce")) == (0, 1)
    with pytest.raises(KeyError, match="'kcl' was not computed; there are mcl, ce"):
        surface["kcl"]


def test_the_file_gives_it_back(surface: Surface, tmp_path: Path) -> None:
    surface.save(tmp_path / "new" / "surface.npz")
    again = Surface.load(tmp_path / "new" / "surface.npz")
    for name in ("alpha", "beta", "values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(surface, name))
    for name in ("losses", "chance", "about", "cpu_seconds"):
        assert getattr(again, name) == getattr(surface, name)


def test_other_files_are_refused(surface: Surface, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        Surface.load(tmp_path / "none.npz")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with pytest.raises(InputError, match="not a surface"):
        Surface.load(tmp_path / "other.npz")
    surface.save(tmp_path / "cut.npz")
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:300])
    with pytest.raises(InputError, match="not a surface"):
        Surface.load(tmp_path / "cut.npz")


def test_the_share_is_of_the_whole_grid() -> None:
    values = np.array([[0.1, 0.2, np.nan], [np.inf, 0.5, 0.9]])
    assert share_below(values, 0.5) == pytest.approx(2 / 6)
    assert share_below(np.full((2, 2), np.nan), 1.0) == 0.0


def test_rank_correlation_against_the_definition() -> None:
    random = np.random.default_rng(0)
    first, second = random.permutation(40).astype(float), random.permutation(40).astype(float)
    d = first - second  # without ties: 1 - 6 sum d^2 / (n (n^2 - 1))
    assert rank_correlation(first, second) == pytest.approx(1 - 6 * (d**2).sum() / (40 * (40**2 - 1)))
    assert rank_correlation(first, -np.exp(first / 10)) == pytest.approx(-1)
    with_gaps = np.where(first == 3, np.nan, first)
    assert rank_correlation(with_gaps, second) == pytest.approx(rank_correlation(first[first != 3], second[first != 3]))


def test_what_has_no_order_has_no_correlation() -> None:
    assert np.isnan(rank_correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]))
    assert np.isnan(rank_correlation([1.0, np.nan], [1.0, 2.0]))
    with pytest.raises(InputError, match="use one grid for both"):
        rank_correlation([1.0, 2.0], [1.0])


def test_the_range_of_finite_values() -> None:
    assert finite_range([[3.0, np.inf], [np.nan, 1.0]]) == (1.0, 3.0)
    assert np.isnan(finite_range([np.nan])).all()
