"""The piles that counting classes is learned from."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.estimators.held_out_classes import subpiles


@pytest.mark.parametrize(("n_classes", "there"), [(100, 25), (40, 20), (12, 12)])
def test_a_quarter_of_the_classes_twenty_at_least(n_classes: int, there: int) -> None:
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(n_classes), 20)) + 3
    piles = subpiles(codes, seed=1)
    assert [len(rows) for rows, _ in piles] == [20 * there] * 4 + [10 * there] * 3 + [5 * there] * 2
    for rows, n in piles:
        assert n == len(set(codes[rows].tolist()))
        assert (np.diff(rows) > 0).all()
    assert [n for _, n in piles[:7]] == [there] * 7
    for rows, _ in piles[:4]:  # whole classes
        assert all(np.sum(codes[rows] == name) == 20 for name in np.unique(codes[rows]))
    chosen = {tuple(np.unique(codes[rows])) for rows, _ in piles}
    assert len(chosen) > 1 or n_classes == there
    again = subpiles(codes, seed=1)
    assert all(np.array_equal(rows, others) for (rows, _), (others, _) in zip(piles, again, strict=True))


def test_piles_in_which_hardly_anything_is_the_same_are_left_out() -> None:
    assert subpiles(np.arange(30), seed=0) == []
    assert subpiles(np.zeros(30, dtype=np.int64), seed=0) == []
    codes = np.repeat(np.arange(30), 5)  # all five items of 20 classes, half of them, but not a quarter
    piles = subpiles(codes, seed=0)
    assert [len(rows) for rows, _ in piles] == [100] * 4 + [50] * 3
