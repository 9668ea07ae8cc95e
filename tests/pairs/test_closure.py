"""The closure against a loop over all items; large numbers; what contradictions and weights do to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.pairs import Pairs

N = 6
items = st.integers(0, N - 1)
answer = st.tuples(items, items, st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0]), st.sampled_from([0.0, 1.0, 1.0, 2.0]))
answers_given = st.lists(answer, max_size=14)


@given(answers_given)
def test_all_that_is_known_equals_a_loop_over_all_items(make: Any, brute: Any, answers: list[Any]) -> None:
    closure, expected = make(answers, N).closure(), brute(answers, N)
    np.testing.assert_array_equal(closure.target(np.arange(N)), expected.target)
    i, j = np.indices((N, N))
    np.testing.assert_array_equal(closure.answers_about(i, j), expected.target)
    assert closure.n_contradicted == len(expected.denied)


@given(answers_given, st.lists(items, max_size=9))
def test_a_batch_is_a_part_of_the_whole_whatever_its_order(
    make: Any, brute: Any, answers: list[Any], batch: list[int]
) -> None:
    target = make(answers, N).closure().target(np.array(batch, dtype=int))
    assert target.dtype == np.float32
    np.testing.assert_array_equal(target, brute(answers, N).target[np.ix_(batch, batch)])


@given(answers_given)
def test_implied_pairs_are_those_that_nobody_answered(make: Any, brute: Any, answers: list[Any]) -> None:
    closure, expected = make(answers, N).closure(), brute(answers, N).target
    said = {(min(i, j), max(i, j), same > 0.5) for i, j, same, weight in answers if weight > 0 and same != 0.5}
    pairs = [(i, j) for i in range(N) for j in range(i + 1, N)]
    assert closure.known_same == sum(expected[pair] == 1 for pair in pairs)
    assert closure.known_different == sum(expected[pair] == 0 for pair in pairs)
    assert closure.implied_same == sum(expected[pair] == 1 and (*pair, True) not in said for pair in pairs)
    assert closure.implied_different == sum(expected[pair] == 0 and (*pair, False) not in said for pair in pairs)
    spoken_of = {item for i, j, _ in said if i != j for item in (i, j)}
    assert closure.complete == all(not np.isnan(expected[pair]) for pair in pairs if spoken_of.issuperset(pair))


@given(answers_given)
def test_components_are_numbered_by_their_first_items_and_pairs_of_them_sorted(make: Any, answers: list[Any]) -> None:
    closure = make(answers, N).closure()
    assert list(dict.fromkeys(closure.component.tolist())) == list(range(closure.n_components))
    rows = [tuple(row) for row in closure.different.tolist()]
    assert rows == sorted(set(rows))
    assert all(low < high for low, high in rows)


def test_counts_are_whole_numbers_beyond_32_bits() -> None:
    n = 200_000  # two groups of half of them: 2 * n/2 (n/2 - 1) / 2 + (n/2)^2
    half = n // 2
    left = np.arange(n - 1)
    same = np.ones(n - 1)
    same[half - 1] = 0
    closure = Pairs.from_arrays(np.stack([left, left + 1], axis=1), same).closure()
    assert closure.known_same == half * (half - 1)
    assert closure.implied_same == half * (half - 1) - (n - 2)
    assert (closure.known_different, closure.implied_different) == (half * half, half * half - 1)
    assert type(closure.implied_same) is type(closure.implied_different) is int


def test_three_hundred_repeats_are_one_link() -> None:
    closure = Pairs.from_arrays([(0, 1)] * 300, [1] * 300).closure()
    assert (closure.n_components, closure.answered_same, closure.implied_same) == (1, 1, 0)


def test_without_answers_nothing_is_known() -> None:
    closure = Pairs.from_arrays([], []).index(3).closure()
    assert closure.n_components == 3
    np.testing.assert_array_equal(closure.target([0, 2]), [[1, np.nan], [np.nan, 1]])
    assert np.isnan(closure.answers_about(0, 1)).all()


@pytest.mark.parametrize(("i", "j", "shape"), [(0, [1, 2], (2,)), ([0, 1], 2, (2,)), (0, 2, (1,))])
def test_answers_about_takes_numbers_and_lists(i: Any, j: Any, shape: tuple[int, ...]) -> None:
    closure = Pairs.from_arrays([(0, 1), (1, 2)], [1, 1]).closure()
    assert closure.answers_about(i, j).tolist() == [1.0] * shape[0]


def test_a_component_with_more_differences_than_the_batch_has_items() -> None:
    closure = Pairs.from_arrays([(0, k) for k in range(1, 20, 2)], [0] * 10).index(20).closure()
    np.testing.assert_array_equal(closure.target([7, 0, 4]), [[1, 0, np.nan], [0, 1, np.nan], [np.nan, np.nan, 1]])
