"""Counting classes: the paper's count, Ward's costs against a naive loop, and the rule on piles of points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import silhouette_samples, silhouette_score

from likewise.evaluation import NumberOfClasses, StoppingRule, joining_costs, n_dominant, number_by_silhouette


def pile(n_classes: int, items: int, seed: int) -> NDArray[np.float64]:
    random = np.random.default_rng(seed)
    return np.repeat(random.normal(size=(n_classes, 16)), items, 0) + 0.25 * random.normal(size=(n_classes * items, 16))


@pytest.mark.parametrize(
    ("counts", "n_outputs", "expected"),
    [([10, 10], 2, 2), ([10, 9], 2, 1), ([10, 9], 100, 2), ([97, 1, 2], 100, 3), ([98, 0, 2], 3, 1), ([0, 0], 2, 0)],
)
def test_dominant_clusters(counts: list[int], n_outputs: int, expected: int) -> None:
    assert n_dominant(np.repeat(np.arange(len(counts)), counts), n_outputs) == expected
    assert n_dominant(np.repeat(np.arange(len(counts)), counts).tolist(), n_outputs) == expected  # [] is no floats


def test_joining_costs_against_a_naive_loop() -> None:
    points = np.random.default_rng(0).normal(size=(9, 3))
    clusters, costs = [[i] for i in range(9)], []
    while len(clusters) > 1:

        def cost(pair: tuple[int, int]) -> float:
            a, b = points[clusters[pair[0]]], points[clusters[pair[1]]]
            return float(np.sqrt(2 * len(a) * len(b) / (len(a) + len(b))) * np.linalg.norm(a.mean(0) - b.mean(0)))

        best = min(itertools.combinations(range(len(clusters)), 2), key=cost)
        costs.append(cost(best))
        clusters[best[0]] += clusters.pop(best[1])
    np.testing.assert_allclose(joining_costs(points), costs[::-1])


@pytest.mark.parametrize(("n_classes", "items"), [(4, 12), (7, 30), (25, 8), (12, 60)])
def test_the_rule_carries_over_to_other_numbers_and_sizes(n_classes: int, items: int) -> None:
    known = [(joining_costs(pile(c, m, seed)), c) for seed, (c, m) in enumerate([(5, 10), (10, 10), (8, 25), (20, 40)])]
    rule = StoppingRule.fit(known)
    found = rule.number_of_classes(joining_costs(pile(n_classes, items, seed=9)), largest=100)
    assert found.estimate == n_classes
    assert found.low <= n_classes <= found.high


def known_pile(size: int, n_classes: int, height: float) -> tuple[NDArray[np.float64], int]:
    """Joining costs of so many items, of which those around the number of classes have this mean."""
    costs = np.linspace(9.0, 0.1, size - 1)
    costs[n_classes - 2 : n_classes] = height + 0.5, height - 0.5
    return costs, n_classes


def test_the_rule_is_the_line_of_least_squares() -> None:
    """h^2 against the mean size of a class: items 20, 30 and 40 in 2, 5 and 4 classes."""
    piles = [known_pile(20, 2, 5.0), known_pile(30, 5, 4.0), known_pile(40, 4, 6.0)]
    sizes, squares = np.array([10.0, 6.0, 10.0]), np.array([25.0, 16.0, 36.0])
    rule = StoppingRule.fit(piles)
    b, a = np.polyfit(sizes, squares, 1)
    assert (rule.a, rule.b) == pytest.approx((max(a, 0), b if a >= 0 else sizes @ squares / (sizes @ sizes)))
    off = np.sqrt(squares / (rule.a + rule.b * sizes))
    assert rule.off == pytest.approx((np.quantile(off, 0.05), np.quantile(off, 0.95)))
    slow = StoppingRule.fit([known_pile(20, 2, 5.0), known_pile(60, 2, 6.0)])  # 25 = a + 10 b, 36 = a + 30 b
    assert (slow.a, slow.b) == pytest.approx((19.5, 0.55))
    rising = StoppingRule.fit([known_pile(20, 2, 5.0), known_pile(40, 2, 6.0)])
    assert (rising.a, rising.b) == pytest.approx((14.0, 1.1))  # 25 = a + 10 b, 36 = a + 20 b
    assert rising.off == pytest.approx((1.0, 1.0))


def test_neither_part_of_the_rule_is_below_zero() -> None:
    steep = StoppingRule.fit([known_pile(20, 4, 2.0), known_pile(40, 4, 6.0)])  # 4 at 5 items a class, 36 at 10
    assert (steep.a, steep.b) == pytest.approx((0.0, (5 * 4 + 10 * 36) / (5**2 + 10**2)))
    falling = StoppingRule.fit([known_pile(20, 4, 6.0), known_pile(40, 4, 2.0)])
    assert (falling.a, falling.b) == pytest.approx((20.0, 0.0))
    through_zero = StoppingRule.fit([known_pile(20, 5, 2.0), known_pile(80, 5, 4.0)])  # 4 at 4, 16 at 16
    assert (through_zero.a, through_zero.b) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_interval_is_what_the_rule_was_off_by() -> None:
    costs = np.array([10.0, 3.0, 1.5, 0.7, 0.3])  # of joining two clusters to one, three to two, and so on
    assert StoppingRule(1.0, 0.0, (0.5, 2.0)).number_of_classes(costs, 9) == NumberOfClasses(4, 3, 5)
    assert StoppingRule(1.0, 0.0, (1.2, 2.0)).number_of_classes(costs, 9) == NumberOfClasses(4, 3, 4)
    assert StoppingRule(1.0, 0.0, (0.5, 0.8)).number_of_classes(costs, 9) == NumberOfClasses(4, 4, 5)
    # where k clusters become k - 1, the limit is sqrt(6 b / (k - 1)): it falls as k grows
    assert StoppingRule(0.0, 1.5, (1.0, 1.0)).number_of_classes(costs, 9).estimate == 3
    assert StoppingRule(0.0, 1.0, (1.0, 1.0)).number_of_classes(costs, 9).estimate == 4


def test_the_largest_number_is_kept_to() -> None:
    costs = joining_costs(pile(20, 10, seed=1))
    rule = StoppingRule.fit([(costs, 20)])
    assert rule.number_of_classes(costs, 100).estimate == 20
    assert rule.number_of_classes(costs, 7).estimate == 7


def test_the_interval_is_as_wide_as_the_known_piles_disagree() -> None:
    costs = joining_costs(pile(12, 10, seed=0))
    agreeing = [(joining_costs(pile(c, 10, seed)), c) for seed, c in enumerate((8, 12, 16))]
    doubtful = [*agreeing, (3 * agreeing[0][0], 8), (agreeing[1][0] / 3, 12)]
    firm, wide = (StoppingRule.fit(known).number_of_classes(costs, 100) for known in (agreeing, doubtful))
    assert wide.low <= firm.low <= 12 <= firm.high <= wide.high
    assert wide.high - wide.low > firm.high - firm.low


def test_one_size_of_class_gives_a_level_rule() -> None:
    rule = StoppingRule.fit([(joining_costs(pile(c, 10, seed=c)), c) for c in (5, 9)])
    assert rule.b == 0


def test_there_are_never_fewer_than_two() -> None:
    costs = np.array([10.0, 1.0, 0.5])  # of joining four items down to one, two and three clusters
    for a, expected in ((1e6, 2), (1.0, 2), (0.3, 3), (0.01, 4)):
        assert StoppingRule(a, 0.0, (1.0, 1.0)).number_of_classes(costs, 100).estimate == expected


def test_the_silhouette_against_scikit_learn() -> None:
    points = np.random.default_rng(2).normal(size=(40, 3)) + np.repeat(3 * np.eye(3), (10, 10, 20), 0)
    tree = linkage(points, "ward")
    scores = {k: silhouette_score(points, fcluster(tree, k, "maxclust")) for k in range(2, 13)}
    found = number_by_silhouette(points, 12)
    assert found.estimate == max(scores, key=lambda k: scores[k])
    assert found.low <= found.estimate <= found.high


@pytest.mark.parametrize("seed", range(6))
def test_the_interval_of_the_silhouette(seed: int) -> None:
    """All numbers next to the best whose silhouette is within two standard errors of the best one's."""
    points = np.random.default_rng(seed).normal(size=(30, 2))
    tree = linkage(points, "ward")
    each = {k: silhouette_samples(points, fcluster(tree, k, "maxclust")) for k in range(2, 12)}
    best = max(each, key=lambda k: each[k].mean())
    limit = each[best].mean() - 2 * each[best].std() / np.sqrt(30)
    low = min(k for k in each if all(each[i].mean() > limit for i in range(k, best + 1)))
    high = max(k for k in each if all(each[i].mean() > limit for i in range(best, k + 1)))
    assert number_by_silhouette(points, 11) == NumberOfClasses(best, low, high)


def test_the_silhouette_of_two_or_three_clusters() -> None:
    points = [[0.0], [0.1], [9.0], [20.0], [20.1]]
    assert number_by_silhouette(points, 2).estimate == 2
    assert number_by_silhouette(points[:3], 2) == number_by_silhouette(points[:3], 9) == NumberOfClasses(2, 2, 2)
    assert number_by_silhouette(points, 1) == NumberOfClasses(1, 1, 1)


def test_the_silhouette_finds_what_is_there_and_at_most_what_may_be() -> None:
    points = pile(7, 15, seed=3)
    assert number_by_silhouette(points, 100) == NumberOfClasses(7, 7, 7)
    assert number_by_silhouette(points, 4).estimate <= 4
    assert number_by_silhouette(points[:2], 100) == NumberOfClasses(1, 1, 1)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="below n_outputs, 2, got 2"):
        n_dominant([0, 2], 2)
    with pytest.raises(ValueError, match="two items or more"):
        joining_costs([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"^A stopping rule needs a pile of known classes\.$"):
        StoppingRule.fit([])
    with pytest.raises(ValueError, match="3 items cannot have 3 classes"):
        StoppingRule.fit([(np.array([2.0, 1.0]), 3)])
    with pytest.raises(ValueError, match="3 items cannot have 1 classes"):
        StoppingRule.fit([(np.array([2.0, 1.0]), 1)])
