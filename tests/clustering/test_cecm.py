"""CECM, against its objective set by set, and against generic solvers."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import CECM, Constraints, read_constraints
from likewise.clustering.cecm import Evidence, focal_sets, lower_masses, on_simplex, pignistic

Array = NDArray[np.float64]

X, y = make_blobs(30, centers=3, cluster_std=2.0, random_state=3)
pairs = Pairs.from_labels(y, n=60, random_state=2)


def against(masses: Array, sets: NDArray[np.bool_], given: Constraints) -> float:
    """The weighted mean of the plausibilities that answers are against, from the definition of the product's masses."""
    total = 0.0
    for links, weights, meet in (
        (given.must_link, given.must_weight, False),
        (given.cannot_link, given.cannot_weight, True),
    ):
        for (i, j), weight in zip(links, weights, strict=True):
            for A in range(len(sets)):
                for B in range(len(sets)):
                    both = sets[A].any() and sets[B].any()
                    may_be_same = (sets[A] & sets[B]).any()
                    surely_same = may_be_same and sets[A].sum() == sets[B].sum() == 1
                    if both and (may_be_same if meet else not surely_same):
                        total += weight * masses[i, A] * masses[j, B]
    return total / (given.must_weight.sum() + given.cannot_weight.sum())


def objective(found: CECM, items: Array, given: Constraints) -> float:
    sets, n = found.focal_sets_, len(items)
    spread = ((items - items.mean(0)) ** 2).sum(1).mean()
    total = 0.0
    for i in range(n):
        for A, members in enumerate(sets):
            if members.any():
                squared = ((items[i] - found.cluster_centers_[members].mean(0)) ** 2).sum() / spread
                total += members.sum() ** found.alpha * found.masses_[i, A] ** 2 * squared
            else:
                total += found.rho**2 * found.masses_[i, A] ** 2
    return (1 - found.xi) * total / (len(sets) * n) + found.xi * against(found.masses_, sets, given)


@pytest.mark.parametrize("alpha", [1.0, 2.0])
@pytest.mark.parametrize("kind", ["all", "pairs", "single"])
def test_the_objective(kind: str, alpha: float) -> None:
    found = CECM(3, focal_sets=kind, alpha=alpha).fit(X, pairs=pairs)  # type: ignore[arg-type]
    assert found.objective_[-1] == pytest.approx(objective(found, X, read_constraints(pairs, 30)))
    assert (np.diff(found.objective_) <= 1e-12).all()
    np.testing.assert_allclose(found.masses_.sum(1), 1)
    assert (found.masses_ >= 0).all()


def test_the_gradient_of_the_evidence() -> None:
    sets = focal_sets(3, "all")
    random = np.random.default_rng(0)
    weighted = Pairs.from_arrays(random.integers(0, 6, (12, 2)), random.integers(0, 2, 12), random.uniform(0.5, 2, 12))
    given = read_constraints(weighted, 6)
    masses = random.dirichlet(np.ones(8), size=6)
    gradient = Evidence.of(given, sets, xi=0.4).gradient(masses)
    assert (gradient * masses).sum() / 2 == pytest.approx(0.4 * against(masses, sets, given))
    for i, A in [(0, 0), (1, 1), (2, 4), (3, 7)]:
        up, down = masses.copy(), masses.copy()
        up[i, A] += 0.5
        down[i, A] -= 0.5
        assert gradient[i, A] == pytest.approx(0.4 * (against(up, sets, given) - against(down, sets, given)))


def test_masses_on_the_simplex() -> None:
    random = np.random.default_rng(1)
    h, c = random.uniform(0.2, 3, (5, 6)), random.normal(size=(5, 6))
    for ours, curvature, slope in zip(on_simplex(h, c), h, c, strict=True):
        theirs = minimize(
            lambda m, curvature=curvature, slope=slope: (curvature * m**2).sum() / 2 + slope @ m,
            np.full(6, 1 / 6),
            bounds=[(0, None)] * 6,
            constraints={"type": "eq", "fun": lambda m: m.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(ours, theirs.x, atol=1e-5)


def test_masses_where_no_item_gains_by_a_change_of_its_own() -> None:
    sets = focal_sets(2, "all")
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3)], [(1, 2)]), 4)
    cost = np.random.default_rng(2).uniform(0.01, 0.1, (4, 4))
    evidence = Evidence.of(given, sets, 0.5)
    masses = np.full((4, 4), 0.25)
    for _ in range(200):
        masses, value = lower_masses(masses, cost, evidence)
    gradient = 2 * cost * masses + evidence.gradient(masses)
    for own, slope in zip(masses, gradient, strict=True):  # the conditions of Karush, Kuhn and Tucker
        level = slope[own > 1e-6].max()
        assert slope[own > 1e-6].min() == pytest.approx(level, abs=1e-4)
        assert (slope >= level - 1e-4).all()
    assert value == pytest.approx((cost * masses**2).sum() + 0.5 * against(masses, sets, given))


def test_without_answers_it_is_evidential_c_means() -> None:
    found = CECM(3, tol=1e-10, max_iter=1000).fit(X)
    spread = ((X - X.mean(0)) ** 2).sum(1).mean()
    cost = np.full((30, 8), found.rho**2)
    for A, members in enumerate(found.focal_sets_):
        if members.any():
            mean = found.cluster_centers_[members].mean(0)
            cost[:, A] = members.sum() * ((X - mean) ** 2).sum(1) / spread
    np.testing.assert_allclose(found.masses_, 1 / cost / (1 / cost).sum(1, keepdims=True), atol=1e-3)


def test_centres_are_the_least() -> None:
    found = CECM(3, tol=0.0, max_iter=2000).fit(X, pairs=pairs)
    given = read_constraints(pairs, 30)
    best = objective(found, X, given)
    for k in range(3):
        for move in (0.1, -0.1):
            found.cluster_centers_[k] += move
            assert objective(found, X, given) > best
            found.cluster_centers_[k] -= move


def test_answers_are_learned_from() -> None:
    group = np.repeat([0, 1], 20)
    points = np.random.default_rng(5).normal(size=(40, 2)) + group[:, None] * 0.8
    assert adjusted_rand_score(group, CECM(2).fit(points).labels_) < 0.7
    assert adjusted_rand_score(group, CECM(2).fit(points, pairs=Pairs.from_labels(group, n=400)).labels_) > 0.9


def test_place_scale_and_rotation_are_not_seen() -> None:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    ours, theirs = CECM(3).fit(X, pairs=pairs), CECM(3).fit(1e3 * X @ turn + 50, pairs=pairs)
    np.testing.assert_allclose(ours.masses_, theirs.masses_, atol=1e-6)


def test_sets_by_the_number_of_clusters() -> None:
    assert [len(focal_sets(k, "auto")) for k in (1, 2, 4, 5, 9, 10, 30)] == [2, 4, 16, 1 + 5 + 10 + 1, 47, 12, 32]
    sets = {tuple(np.flatnonzero(row)) for row in focal_sets(4, "all")}
    assert sets == {members for size in range(5) for members in combinations(range(4), size)}


def test_the_mass_of_the_empty_set_is_everyones() -> None:
    np.testing.assert_allclose(pignistic(np.array([[1.0, 0, 0, 0]]), focal_sets(2, "all")), [[0.5, 0.5]])


def test_too_many_sets() -> None:
    with pytest.raises(InputError, match=r"20 clusters have 2\^20 sets"):
        CECM(20, focal_sets="all").fit(X)


def test_new_items_go_where_items_without_answers_go() -> None:
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(place, 1, (20, 2)) for place in (0, 6, 12)])
    found = CECM(n_clusters=3).fit(X)
    np.testing.assert_array_equal(found.predict(X), found.labels_)
    pairs = Pairs.from_links([(0, 1)], [(0, 20)])
    with_answers = CECM(n_clusters=3).fit(X, pairs=pairs)
    near_centres = with_answers.cluster_centers_ + np.array([0.1, -0.1])
    np.testing.assert_array_equal(with_answers.predict(near_centres), [0, 1, 2])
