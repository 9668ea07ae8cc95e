"""Counting classes: the paper's count, Ward's costs against a naive loop, and the rule on piles of points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import silhouette_score

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
    with pytest.raises(ValueError, match="needs a pile"):
        StoppingRule.fit([])
    with pytest.raises(ValueError, match="3 items cannot have 1 classes"):
        StoppingRule.fit([(np.array([2.0, 1.0]), 1)])
