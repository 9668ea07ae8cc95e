"""The constrained cut and its relaxation, against every cut there is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array

from likewise.clustering import constrained_cut
from likewise.clustering.constrained_cut import ConstrainedCut, change_sides, minimise_cut, onto_simplex

Array = NDArray[np.float64]


def a_problem(n: int, seed: int, gamma: float, answers: int = 6) -> ConstrainedCut:
    random = np.random.default_rng(seed)

    def symmetric(entries: int) -> csr_array:
        matrix = np.zeros((n, n))
        i, j = random.integers(0, n, (2, entries))
        matrix[i, j] = random.uniform(0.5, 1.5, entries)
        matrix = np.triu(matrix + matrix.T, 1)
        return csr_array(matrix + matrix.T)

    graph = symmetric(4 * n)
    return ConstrainedCut(graph, symmetric(answers), symmetric(answers), np.asarray(graph.sum(1)).ravel() + 0.1, gamma)


def cost(problem: ConstrainedCut, side: NDArray[np.bool_]) -> float:
    """F(C), pair by pair."""
    n, total = len(side), 0.0
    W, M, Q = problem.graph.toarray(), problem.must.toarray(), problem.cannot.toarray()
    for i in range(n):
        for j in range(i + 1, n):
            apart = side[i] != side[j]
            total += W[i, j] + problem.gamma * M[i, j] if apart else problem.gamma * Q[i, j]
    inside = problem.volume[side].sum()
    return float(total / (inside * (problem.volume.sum() - inside) / problem.volume.sum()))


def every_cut(n: int) -> list[NDArray[np.bool_]]:
    return [np.array((False, *rest)) for rest in product([False, True], repeat=n - 1) if any(rest)]


def test_on_sets_the_relaxation_is_the_cut() -> None:
    problem = a_problem(7, 0, gamma=0.7)
    for side in every_cut(7):
        assert problem.ratio(side.astype(float)) == pytest.approx(cost(problem, side))


@pytest.mark.parametrize("seed", range(20))
def test_a_threshold_is_never_worse(seed: int) -> None:
    problem = a_problem(12, seed, gamma=0.5, answers=10)
    f = np.random.default_rng(seed).normal(size=12)
    side, value = problem.best_set(f)
    assert value == pytest.approx(cost(problem, side))
    assert value == pytest.approx(min(cost(problem, f > t) for t in np.sort(f)[:-1]))
    assert value <= problem.ratio(f)


def test_place_and_scale_of_f_are_not_seen() -> None:
    problem = a_problem(9, 3, gamma=1.0)
    f = np.random.default_rng(0).normal(size=9)
    assert problem.ratio(-3 * f + 10) == pytest.approx(problem.ratio(f))


def test_the_step_is_the_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constrained_cut, "INNER_GAP", 1e-5)
    monkeypatch.setattr(constrained_cut, "INNER_STEPS", 20000)
    problem = a_problem(6, 4, gamma=0.8)
    f = np.random.default_rng(2).normal(size=6)
    g = problem.direction(f, problem.ratio(f))
    ours = constrained_cut._step(problem, g)
    assert ours is not None

    def value(x: Array) -> float:
        x = x / max(1.0, np.sqrt(x @ x))
        return problem.convex_part(x) - float(g @ x)

    starts = [ours, f, *np.random.default_rng(3).normal(size=(5, 6))]
    best = min(
        minimize(value, start, method="Nelder-Mead", options={"maxiter": 20000, "fatol": 1e-10}).fun for start in starts
    )
    assert value(ours) == pytest.approx(best, abs=1e-3 * abs(best))
    assert value(ours) < 0


@pytest.mark.parametrize(("seed", "gamma"), [(0, 0.0), (1, 0.3), (2, 1.0), (3, 3.0), (4, 10.0), (5, 1.0), (6, 0.1)])
def test_the_best_of_all_cuts_is_found(seed: int, gamma: float) -> None:
    problem = a_problem(10, seed, gamma)
    starts = np.random.default_rng(seed).normal(size=(20, 10))
    found = [minimise_cut(problem, start) for start in starts]
    for side, value, history in found:
        assert value == pytest.approx(cost(problem, side))
        assert (np.diff(history) <= 1e-12).all()
    best = min(cost(problem, side) for side in every_cut(10))
    assert min(value for _, value, _ in found) == pytest.approx(best)


@pytest.mark.parametrize("seed", range(6))
def test_no_change_of_sides_lowers_the_cost(seed: int) -> None:
    problem = a_problem(9, seed, gamma=1.0)
    side = np.random.default_rng(seed).random(9) < 0.5
    side[:2] = True, False
    ended, value = change_sides(problem, side, cost(problem, side))
    assert value == pytest.approx(cost(problem, ended))
    others = [ended ^ (np.arange(9) == item) for item in range(9)]
    assert all(cost(problem, other) > value * (1 - 1e-5) for other in others if 0 < other.sum() < 9)


@pytest.mark.parametrize("seed", range(12))
def test_no_single_item_would_lower_the_cut_where_the_search_ends(seed: int) -> None:
    problem = a_problem(12, seed, gamma=2.0, answers=24)  # they contradict one another, so that RatioDCA stops early
    side, value, _ = minimise_cut(problem, np.random.default_rng(seed).normal(size=12))
    others = [side ^ (np.arange(12) == item) for item in range(12)]
    assert all(cost(problem, other) > value * (1 - 1e-5) for other in others if 0 < other.sum() < 12)


def test_a_graph_in_two_parts_costs_nothing() -> None:
    graph = csr_array(np.kron(np.eye(2), 1 - np.eye(4)))
    nothing = csr_array((8, 8), dtype=np.float64)
    problem = ConstrainedCut(graph, nothing, nothing, np.full(8, 3.0), 1.0)
    sides = [minimise_cut(problem, start)[0] for start in np.random.default_rng(0).normal(size=(6, 8))]
    assert any((side[:4] == side[0]).all() and (side[4:] != side[0]).all() for side in sides)


@pytest.mark.parametrize("size", [0.5, 3.0])
def test_the_nearest_point_of_a_simplex(size: float) -> None:
    point = np.random.default_rng(1).normal(size=30)
    ours = onto_simplex(point, size)
    low, high = point.min() - size, point.max()
    for _ in range(100):  # the level at which what is above sums to the size, by bisection
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(point - level, 0).sum() > size else (low, level)
    np.testing.assert_allclose(ours, np.maximum(point - level, 0), atol=1e-9)
    assert ours.sum() == pytest.approx(size)
