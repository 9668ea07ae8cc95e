"""Cues against a loop over all pairs; some of many; dates; and what is refused."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.errors import InputError
from likewise.pairs import Pairs, cues, from_graph, from_patches, from_space, from_time

Known = dict[tuple[int, int], float]


def known(pairs: Pairs) -> Known:
    """Each pair once, the smaller item first."""
    found = [
        ((min(i, j), max(i, j)), same)
        for i, j, same in zip(pairs.left.tolist(), pairs.right.tolist(), pairs.same.tolist(), strict=True)
    ]
    assert len(dict(found)) == len(found)
    return dict(found)


def by_distance(n: int, distance: Any, within: float, beyond: float | None) -> Known:
    expected = {}
    for i, j in combinations(range(n), 2):
        if distance(i, j) <= within:
            expected[i, j] = 1.0
        elif beyond is not None and distance(i, j) > beyond:
            expected[i, j] = 0.0
    return expected


spans = st.tuples(st.integers(0, 6), st.none() | st.integers(0, 6)).map(
    lambda span: (span[0], None if span[1] is None else span[0] + span[1])
)


@given(st.lists(st.integers(-9, 9), max_size=12), spans)
def test_time_equals_a_loop_over_all_pairs(times: list[int], span: tuple[int, int | None]) -> None:
    expected = by_distance(len(times), lambda i, j: abs(times[i] - times[j]), *span)
    for values in (np.array(times, dtype=np.int64), np.array(times) / 4.0):
        scale = 4 if values.dtype.kind == "f" else 1
        pairs = from_time(values, span[0] / scale, None if span[1] is None else span[1] / scale)
        assert known(pairs) == expected
        assert pairs.n_items == len(times)
        assert (values[pairs.left] <= values[pairs.right]).all()


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12), spans)
def test_space_equals_a_loop_over_all_pairs(points: list[tuple[int, int]], span: tuple[int, int | None]) -> None:
    pairs = from_space(points, *span)
    assert known(pairs) == by_distance(len(points), lambda i, j: np.hypot(*np.subtract(points[i], points[j])), *span)
    assert pairs.n_items == len(points)


def test_dates() -> None:
    days = [datetime(2024, 1, day) for day in (1, 2, 9, 3)]
    expected = {(0, 1): 1.0, (1, 3): 1.0, (0, 2): 0.0, (1, 2): 0.0, (2, 3): 0.0}
    for times in (days, np.array(days, dtype="datetime64[s]")):
        assert known(from_time(times, timedelta(days=1), np.timedelta64(120, "h"))) == expected
    with pytest.raises(InputError, match="give timedeltas for the spans and not 1"):
        from_time(days, 1)


def test_some_of_many_pairs_in_time_are_drawn_evenly() -> None:
    times = np.arange(40)
    counts = np.zeros((2, 40, 40))
    for seed in range(300):
        pairs = from_time(times, 5, 20, max_pairs=20, random_state=seed)
        assert len(known(pairs)) == 40
        gap = pairs.right - pairs.left
        assert (gap[:20] <= 5).all()
        assert (gap[20:] > 20).all()
        counts[(1 - pairs.same).astype(int), pairs.left, pairs.right] += 1
    gap = times[None] - times[:, None]
    for kind, there in enumerate([(gap > 0) & (gap <= 5), gap > 20]):
        assert counts[kind][~there].sum() == 0
        expected = 300 * 20 / there.sum()
        assert np.abs(counts[kind][there] - expected).max() < 5 * expected**0.5


@pytest.mark.parametrize("way", ["listed", "drawn neighbours", "searched"])
def test_some_of_many_pairs_in_space(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """Near pairs are found in one of three ways, by how many there are; each gives near ones, and now and then all."""
    points = np.random.default_rng(0).random((60, 2))
    within = 1.0 if way == "searched" else 0.15
    if way != "listed":
        monkeypatch.setattr(cues, "LISTED", 0)
        monkeypatch.setattr(cues, "TRIES", 1000)  # fewer than the 1770 pairs, so that they are drawn
        monkeypatch.setattr(cues, "AT_ONCE", 50)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    expected = {(i, j) for i, j in combinations(range(60), 2) if distance[i, j] <= within}
    seen: set[tuple[int, int]] = set()
    for seed in range(80):
        pairs = from_space(points, within, max_pairs=40, random_state=seed)
        assert 30 <= len(known(pairs)) <= 40
        assert known(pairs).keys() <= expected
        seen |= known(pairs).keys()
    assert len(seen) > 0.75 * len(expected)


def test_all_neighbours_are_drawn_where_all_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    points = np.random.default_rng(1).random((50, 3))
    expected = known(from_space(points, 0.3))
    monkeypatch.setattr(cues, "AT_ONCE", 20)
    tree = cues.cKDTree(points)
    drawn = cues._drawn_neighbours(tree, points, 0.3, 2 * len(expected), np.random.default_rng(0))
    assert {*zip(*(side.tolist() for side in drawn), strict=True)} == expected.keys()


def test_far_pairs_are_searched_for_where_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cues, "TRIES", 1000)
    monkeypatch.setattr(cues, "AT_ONCE", 100)
    points = np.random.default_rng(0).random((60, 2))
    pairs = from_space(points, 0.0, different_beyond=0.5, max_pairs=100)
    assert set(known(pairs).values()) == {0.0}
    assert 90 <= len(pairs) <= 100
    assert (np.linalg.norm(points[pairs.left] - points[pairs.right], axis=1) > 0.5).all()


def test_patches_of_several_images() -> None:
    pairs = known(from_patches((2, 3), same_within=1, different_beyond=2, n_images=2))
    one = {(0, 1): 1.0, (1, 2): 1.0, (3, 4): 1.0, (4, 5): 1.0, (0, 3): 1.0, (1, 4): 1.0, (2, 5): 1.0}
    one |= {(0, 5): 0.0, (2, 3): 0.0}  # the square root of 5 apart
    assert pairs == one | {(i + 6, j + 6): same for (i, j), same in one.items()}
    diagonal = known(from_patches((2, 2), same_within=1.5))
    assert len(diagonal) == 6
    some = from_patches((4, 4), n_images=50, max_pairs=100)
    assert (len(known(some)), some.n_items) == (100, 800)
    assert (some.left // 16 == some.right // 16).all()
    assert len(set((some.left // 16).tolist())) > 20


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12), st.data())
def test_links_and_non_links_of_a_graph(edges: list[tuple[int, int]], data: st.DataObject) -> None:
    linked = {(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]}
    non_links = data.draw(st.integers(0, 15 - len(linked)))
    found = known(from_graph(edges, 6, non_links, random_state=data.draw(st.integers(0, 9))))
    assert {pair for pair, same in found.items() if same == 1} == linked
    free = {pair for pair, same in found.items() if same == 0}
    assert len(free) == non_links
    assert not free & linked


def test_every_non_link_is_as_likely() -> None:
    random = np.random.default_rng(0)
    counts = np.zeros((5, 5))
    for _ in range(2000):
        pairs = from_graph([(0, 1), (3, 2), (1, 4)], 5, 2, random)
        free = pairs.same == 0
        counts[pairs.left[free], pairs.right[free]] += 1
    assert np.count_nonzero(counts) == 7
    assert np.abs(counts[counts > 0] - 4000 / 7).max() < 100  # about four standard deviations


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_time([0, 1], -1), "same_within is -1; give 0 or more"),
        (lambda: from_time([0, 1], 3, 2), "different_beyond is 2, less than same_within, 3; give more"),
        (lambda: from_time([0, np.nan], 1), "times, row 1: there is no time"),
        (
            lambda: from_time(np.array(["2024-01-01", "NaT"], "datetime64[D]"), timedelta(1)),
            "times, row 1: there is no",
        ),
        (lambda: from_time([[0, 1]], 1), r"times are int64 of shape \(1, 2\)"),
        (lambda: from_time(["noon", "night"], 1), "times are <U5"),
        (lambda: from_time(np.array([object()]), 1), "times are neither numbers nor dates"),
        (lambda: from_space([0, 1], 1), r"coordinates have shape \(2,\)"),
        (lambda: from_space([[0, 1], [np.inf, 0]], 1), "coordinates, row 1: there is a value that is not a number"),
        (lambda: from_space([[0, 1]], np.nan), "same_within is nan; give 0 or more"),
        (lambda: from_patches((0, 3)), r"grid_shape is \(0, 3\)"),
        (lambda: from_graph([(0, 1, 2)], 3), r"edges are int64 of shape \(1, 3\)"),
        (lambda: from_graph([(0, 1), (0, 3)], 3), r"edges, row 1: \[0, 3\] is not among the 3 items"),
        (lambda: from_graph([(0, 1)], 3, 3), "non_links is 3, but 2 pairs have no edge"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()
