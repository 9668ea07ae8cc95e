"""The surface as arrays and as a file, and what is measured on it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.landscape import Surface, finite_range, rank_correlation, share_below


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
