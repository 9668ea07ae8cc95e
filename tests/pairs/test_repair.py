"""Repair against every subset of the answers; and, where the best is out of reach, against planted truths."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likewise.pairs import Pairs, Repair, contradictions, correlation_clustering
from likewise.pairs.correlation_clustering import group_exactly, group_greedily

N = 5
items = st.integers(0, N - 1)
answer = st.tuples(
    items, items, st.sampled_from([0.0, 0.2, 0.4, 0.5, 0.7, 1.0, 1.0]), st.sampled_from([0.0, 0.5, 1.0, 1.0, 3.0])
)
answers_given = st.lists(answer, max_size=8)


def credibility(answers: Any) -> float:
    return sum(weight * abs(2 * same - 1) for _, _, same, weight in answers)


def best_subset(brute: Any, answers: list[Any]) -> float:
    subsets = ([one for k, one in enumerate(answers) if bits >> k & 1] for bits in range(2 ** len(answers)))
    return max(credibility(subset) for subset in subsets if not brute(subset, N).denied)


def total(pairs: Pairs) -> float:
    return credibility(zip(pairs.left, pairs.right, pairs.same.astype(float), pairs.weight.astype(float), strict=True))


def check_whole(pairs: Pairs, found: Repair) -> None:
    assert found.kept.closure().n_contradicted == 0
    assert sorted([*found.kept.lines, *found.dropped.lines]) == pairs.lines.tolist()
    assert list(found.kept.lines) == sorted(found.kept.lines)


@given(answers_given)
def test_what_is_kept_weighs_as_much_as_the_best_of_all_consistent_subsets(
    make: Any, brute: Any, answers: list[Any]
) -> None:
    pairs = make(answers, N)
    found = pairs.repair()
    check_whole(pairs, found)
    assert found.exact
    assert total(found.kept) == pytest.approx(best_subset(brute, answers), rel=1e-5)


@given(answers_given)
def test_without_work_it_is_consistent_all_the_same_and_says_so(make: Any, brute: Any, answers: list[Any]) -> None:
    pairs = make(answers, N)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(contradictions, "WORK", 0)
        patch.setattr(contradictions, "LOOKS", 0)
        found = pairs.repair()
    check_whole(pairs, found)
    best = best_subset(brute, answers)
    assert total(found.kept) <= best + 1e-5
    if found.exact:
        assert total(found.kept) == pytest.approx(best, rel=1e-5)


def random_knot(seed: int, n: int = 8, m: int = 20) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    number = random.choice(n * (n - 1) // 2, m, replace=False)
    j, i = np.tril_indices(n, -1)
    return i[number], j[number], random.choice([-2.0, -1.0, 1.0, 1.0, 2.0], m) * random.choice([1.0, 1.5], m)


def lost(group: np.ndarray, i: np.ndarray, j: np.ndarray, net: np.ndarray) -> float:
    return float(np.abs(net[(net > 0) == (group[i] != group[j])]).sum())


def every_grouping(n: int) -> list[list[int]]:
    groupings: list[list[int]] = [[]]
    for _ in range(n):
        groupings = [[*one, group] for one in groupings for group in range(max(one, default=-1) + 2)]
    return groupings


EVERY = np.array(every_grouping(8))  # (4140, 8)


@pytest.mark.parametrize("seed", range(12))
def test_dense_knots_have_the_best_of_all_groupings(seed: int) -> None:
    i, j, net = random_knot(seed)
    best = min(lost(group, i, j, net) for group in EVERY)
    group, _ = group_exactly(i, j, net, 8)
    assert group is not None
    assert lost(group, i, j, net) == pytest.approx(best)
    assert lost(group_greedily(i, j, net, 8, 20_000), i, j, net) == pytest.approx(
        best
    )  # so small that shaking finds it too


def test_programs_use_up_the_work() -> None:
    group, left = group_exactly(*random_knot(0), 8, work=1000)
    assert group is not None
    assert 0 < left < 1000
    assert group_exactly(*random_knot(0), 8, work=1000 - left)[0] is not None
    assert group_exactly(*random_knot(0), 8, work=1000 - left - 1)[0] is None


@pytest.mark.parametrize("limit", ["MOST_CONTRADICTIONS", "MOST_IN_WHOLE_NUMBERS"])
def test_too_many_contradictions_are_no_grouping(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    rim = np.arange(1, 6)  # a wheel: each spoke dropped by half weighs less than any solution in whole numbers
    i, j = np.append(0 * rim, rim), np.append(rim, np.roll(rim, 1))
    net = np.repeat([1.0, -1.0], 5)
    assert group_exactly(i, j, net, 6)[0] is not None
    monkeypatch.setattr(correlation_clustering, limit, 4)
    assert group_exactly(i, j, net, 6)[0] is None


def test_a_knot_that_needs_more_than_the_work_comes_out_the_same_on_a_slow_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contradictions, "WORK", 500)
    monkeypatch.setattr(contradictions, "LOOKS", 100_000)
    pairs, _ = noisy(50, 4, 300, flipped=0.2)
    first = pairs.repair()
    assert not first.exact
    now = [0.0]

    def later() -> float:
        now[0] += 1000.0
        return now[0]

    for clock in ("monotonic", "perf_counter", "time", "process_time"):
        monkeypatch.setattr(time, clock, later)
    assert pairs.repair().dropped.lines.tolist() == first.dropped.lines.tolist()


def noisy(n: int, n_classes: int, m: int, flipped: float) -> tuple[Pairs, np.ndarray]:
    random = np.random.default_rng(0)
    classes = random.integers(n_classes, size=n)
    left = random.integers(n, size=m)
    right = (left + random.integers(1, n, size=m)) % n
    wrong = random.random(m) < flipped
    return Pairs.from_arrays(np.stack([left, right], axis=1), (classes[left] == classes[right]) ^ wrong), wrong


def test_a_knot_too_large_for_the_best_still_loses_just_the_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contradictions, "EXACT_EDGES", 100)
    pairs, wrong = noisy(60, 3, 1500, flipped=0.1)
    kept, dropped, exact = pairs.repair()
    assert not exact
    assert set(dropped.lines.tolist()) == set(np.flatnonzero(wrong).tolist())
    assert kept.closure().n_contradicted == 0
    assert kept.closure().n_components == 3


def test_one_knot_that_takes_too_long_does_not_spoil_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(i: Any, j: Any, net: Any, n: int, work: int) -> Any:
        return (None, work) if n > 3 else group_exactly(i, j, net, n)  # n is 3 in a triangle alone

    monkeypatch.setattr(contradictions, "group_exactly", slow)
    triangle = np.array([(0, 1), (1, 2), (0, 2)])
    square = np.array([(6, 7), (7, 8), (8, 9), (9, 6)])
    index = np.concatenate([triangle, square, triangle + 3])
    pairs = Pairs.from_arrays(index, [1, 1, 0, 1, 1, 1, 0, 1, 1, 0], [1, 2, 2, 1, 2, 2, 2, 2, 1, 2])
    _, dropped, exact = pairs.repair()
    assert dropped.lines.tolist() == [0, 3, 8]  # the lightest of each
    assert not exact
    monkeypatch.setattr(contradictions, "group_exactly", group_exactly)
    assert pairs.repair().exact


def test_many_knots_are_solved_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []

    def counted(i: Any, j: Any, net: Any, n: int, work: int) -> Any:
        sizes.append(len(i))
        return group_exactly(i, j, net, n)

    monkeypatch.setattr(contradictions, "group_exactly", counted)
    monkeypatch.setattr(contradictions, "EXACT_EDGES", 20)
    triangles = np.concatenate([np.array([(0, 1), (1, 2), (0, 2)]) + 3 * k for k in range(13)])
    found = Pairs.from_arrays(triangles, [1, 1, 0] * 13, [1, 2, 3] * 13).repair()
    assert found.dropped.lines.tolist() == list(range(0, 39, 3))
    assert sizes == [18, 18, 3]


def test_consistent_answers_are_kept_as_they_are() -> None:
    pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("c", "d"), ("d", "d")], [1, 0.5, 0, 1], [1, 1, 0, 1], [*"xyxy"])
    kept, dropped, exact = pairs.repair()
    assert (len(kept), len(dropped), exact) == (4, 0, True)
    assert kept.annotators == ("x", "y")
    assert kept.ids is pairs.ids


def test_many_against_one_is_decided_by_their_sum() -> None:
    pairs = Pairs.from_arrays([(0, 1)] * 4, [1, 0, 0, 0], [2.5, 1, 1, 1])
    assert pairs.repair().dropped.lines.tolist() == [0]
