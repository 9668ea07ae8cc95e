"""What is held out of the known classes, and the piles of it that counting classes is learned from."""

from __future__ import annotations

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.estimators.held_out_classes import group_of_each_class, hold_out_classes, piles_to_count


@pytest.mark.parametrize(("n_classes", "there"), [(100, 25), (40, 20), (12, 12)])
def test_a_quarter_of_the_classes_twenty_at_least(n_classes: int, there: int) -> None:
    codes = np.random.default_rng(0).permutation(np.repeat(np.arange(n_classes), 20)) + 3
    piles = piles_to_count(codes, seed=1)
    assert [len(rows) for rows, _ in piles] == [20 * there] * 4 + [10 * there] * 3 + [5 * there] * 2
    for rows, n in piles:
        assert n == len(set(codes[rows].tolist()))
        assert (np.diff(rows) > 0).all()
    assert [n for _, n in piles[:7]] == [there] * 7
    for rows, _ in piles[:4]:  # whole classes
        assert all(np.sum(codes[rows] == name) == 20 for name in np.unique(codes[rows]))
    chosen = {tuple(np.unique(codes[rows])) for rows, _ in piles}
    assert len(chosen) > 1 or n_classes == there
    again = piles_to_count(codes, seed=1)
    assert all(np.array_equal(rows, others) for (rows, _), (others, _) in zip(piles, again, strict=True))


def test_piles_in_which_hardly_anything_is_the_same_are_left_out() -> None:
    assert piles_to_count(np.arange(30), seed=0) == []
    assert piles_to_count(np.zeros(30, dtype=np.int64), seed=0) == []
    codes = np.repeat(np.arange(30), 5)  # all five items of 20 classes, half of them, but not a quarter
    piles = piles_to_count(codes, seed=0)
    assert [len(rows) for rows, _ in piles] == [100] * 4 + [50] * 3


CODES = np.random.default_rng(1).permutation(np.repeat(np.arange(40), 8))
GROUP = np.arange(40) // 5  # eight groups of five classes


@pytest.mark.parametrize(("share", "n_groups"), [(0.1, 1), (0.15, 2), (0.3, 3)])
def test_whole_groups_are_held_out_until_they_are_enough(share: float, n_groups: int) -> None:
    parts = hold_out_classes(CODES, share, 0, GROUP)
    assert parts.kind == "groups"
    assert sorted([*parts.train, *parts.held_out]) == list(range(len(CODES)))
    groups = set(GROUP[parts.held_out_codes].tolist())
    assert len(groups) == n_groups
    assert not groups & set(GROUP[parts.train_codes].tolist())
    assert (CODES[parts.held_out] == parts.held_out_codes).all()


def test_each_group_that_was_held_out_is_a_pile() -> None:
    parts = hold_out_classes(CODES, 0.3, 0, GROUP)
    piles = piles_to_count(parts.held_out_codes, 0, GROUP)
    assert [len(rows) for rows, _ in piles if len(rows) > 10] == [40, 20] * 3  # of a quarter some are too small
    for rows, n_classes in piles:
        assert len(set(GROUP[parts.held_out_codes[rows]].tolist())) == 1
        assert n_classes == len(set(parts.held_out_codes[rows].tolist()))


def test_few_groups_hold_classes_out_instead() -> None:
    with_groups = hold_out_classes(CODES, 0.15, 0, np.arange(40) % 4)
    assert with_groups.kind == "classes"
    np.testing.assert_array_equal(with_groups.held_out, hold_out_classes(CODES, 0.15, 0).held_out)


def test_groups_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="3 items and 2 groups"):
        group_of_each_class(np.array([0, 0, 1]), ["a", "b"])
    with pytest.raises(InputError, match="that of item 0, are in two groups"):
        group_of_each_class(np.array([0, 0, 1]), ["a", "b", "b"])


def test_only_as_many_are_paired_as_fit() -> None:
    parts = hold_out_classes(np.arange(20_000) % 20, 0.5, 0)
    rows, codes = parts.to_pair(0)
    assert len(parts.held_out) == 10_000
    assert len(set(rows.tolist())) == 2000
    assert (rows % 20 == codes).all()
    assert set(rows) <= set(parts.held_out)
