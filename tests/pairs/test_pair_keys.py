"""Numbers of pairs there and back, and numbers that are drawn once each."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.pairs.pair_keys import distinct_numbers, n_pairs, number_of_pair, pair_numbered


def test_all_pairs_of_a_few_items_in_order() -> None:
    i, j = pair_numbered(np.arange(n_pairs(40)))
    assert [*zip(i.tolist(), j.tolist(), strict=True)] == [(a, b) for b in range(40) for a in range(b)]


@given(st.integers(0, n_pairs(2**31) - 1))
def test_there_and_back_for_as_many_items_as_there_could_be(number: int) -> None:
    i, j = pair_numbered(np.array([number]))
    assert 0 <= i[0] < j[0] < 2**31
    assert number_of_pair(i, j).tolist() == [number]


@pytest.mark.parametrize("j", [2, 3, 94906267, 2**30, 2**31 - 1])  # about the last number that a float64 holds exactly
def test_the_first_and_last_pair_of_an_item(j: int) -> None:
    first, last = number_of_pair(np.array([0, j - 1]), np.array([j, j]))
    for number, i in ((first, 0), (last, j - 1)):
        assert [int(side[0]) for side in pair_numbered(np.array([number]))] == [i, j]


@given(st.integers(0, 300), st.data())
def test_drawn_numbers_are_distinct_and_below_the_total(total: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(0, total))
    drawn = distinct_numbers(total, n, np.random.default_rng(data.draw(st.integers(0, 9))))
    assert len(drawn) == n == len(set(drawn.tolist()))
    assert all(0 <= number < total for number in drawn)


@pytest.mark.parametrize(("total", "n"), [(6, 2), (5, 3)], ids=["few of them", "most of them"])
def test_every_order_of_every_choice_is_as_likely(total: int, n: int) -> None:
    random = np.random.default_rng(0)
    counts = Counter(tuple(distinct_numbers(total, n, random).tolist()) for _ in range(6000))
    orders = 30 if n == 2 else 60
    assert len(counts) == orders
    expected = 6000 / orders
    assert all(abs(count - expected) < 5 * expected**0.5 for count in counts.values())


def test_a_few_of_very_many_take_little_room() -> None:
    drawn = distinct_numbers(n_pairs(2**31), 1000, np.random.default_rng(0))
    assert len(set(drawn.tolist())) == 1000
