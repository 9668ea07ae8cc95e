"""Groups joined by geometry and answers: what answers decide, what they cannot, and how candidates are weighed."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import Agglomeration
from likewise.clustering.agglomeration import agglomerate, aligned, contrast, f_score, log_likelihood
from likewise.clustering.constraints import read_constraints
from likewise.clustering.geometry import Sphere
from likewise.clustering.linkage import Odds, clusters_after, join_groups, mean_field, move_groups
from likewise.clustering.lsc import unit_rows

NO_ODDS = Odds(6, np.empty((0, 2), dtype=np.int64), np.empty(0))
ARC = np.array([0.0, 0.1, 0.2, 1.0, 1.1, 1.2])  # two groups of directions
SPHERE = Sphere(np.stack([np.cos(ARC), np.sin(ARC)], axis=1), 1.0)
EACH = np.arange(6)


def odds_of(pairs: list[tuple[int, int]], same: list[float], n_items: int = 6) -> Odds:
    return Odds.of(read_constraints(Pairs.from_arrays(pairs, same), n_items))


def test_without_answers_the_nearest_groups_are_joined_first() -> None:
    joins = join_groups(SPHERE, EACH, 6, NO_ODDS.matrix(0.05), 2)
    assert clusters_after(joins, 6).tolist() == [0, 0, 0, 1, 1, 1]
    assert {joins[0], joins[1]} <= {(0, 1), (1, 2), (3, 4), (4, 5)}


def test_answers_outweigh_geometry() -> None:
    odds = odds_of([(0, 3), (1, 4), (2, 5), (0, 1), (1, 2), (0, 2)], [1, 1, 1, 0, 0, 0])
    joins = join_groups(SPHERE, EACH, 6, odds.matrix(0.05), 3)
    assert clusters_after(joins, 6).tolist() == [0, 1, 2, 0, 1, 2]


def test_chains_of_joins_end_in_one_cluster() -> None:
    assert clusters_after([(2, 3), (1, 2), (0, 1)], 5).tolist() == [0, 0, 0, 0, 1]


def test_a_group_moves_to_where_its_answers_are() -> None:
    odds = odds_of([(2, 3), (2, 0)], [1, 0])
    moved = move_groups(SPHERE, EACH, 6, odds.matrix(0.05), np.array([0, 0, 0, 1, 1, 1]), 2)
    assert moved.tolist() == [0, 0, 1, 1, 1, 1]


def test_no_group_moves_for_nothing() -> None:
    best = np.array([0, 0, 0, 1, 1, 1])
    assert move_groups(SPHERE, EACH, 6, NO_ODDS.matrix(0.05), best, 2).tolist() == best.tolist()


def test_the_mean_field_is_where_its_equation_holds() -> None:
    odds = odds_of([(2, 3)], [1]).matrix(0.05)
    q = mean_field(SPHERE, np.array([0, 0, 0, 1, 1, 1]), odds, 2)
    logits = SPHERE.logits(q) + odds @ q
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert q == pytest.approx(expected, abs=1e-3)


def test_the_share_of_wrong_answers_is_counted() -> None:
    labels = np.arange(1000) % 2
    pairs = [(i, i + 2) for i in range(0, 900, 2)] + [(i, i + 1) for i in range(0, 100, 2)]
    odds = odds_of(pairs, [1] * len(pairs), 1000)  # the last fifty are wrong
    assert odds.share_wrong(labels) == pytest.approx(0.1, abs=0.005)
    assert odds_of([(0, 2)], [1], 1000).share_wrong(labels) == pytest.approx(0.05, abs=0.005)  # one answer says little


def test_a_likelihood_counts_the_four_cases() -> None:
    odds = odds_of([(0, 1), (0, 2), (0, 3), (0, 4)], [1, 1, 0, 0])
    together = odds.credit > 0
    together[0] = False
    expected = np.log(1.5 / 2) + np.log(1.5 / 4) + 2 * np.log(2.5 / 4)
    assert log_likelihood(together, odds) == pytest.approx(expected)


def test_the_contrast_has_the_error_of_two_shares() -> None:
    """The standard error of the difference of two binomial shares, with half an answer of either kind added to each."""
    same = np.array([1, 1, 1, 0, 1, 0, 0, 0, 0, 0], dtype=bool)
    together = np.array([1, 1, 1, 1, 0, 0, 0, 0, 0, 0], dtype=bool)
    odds = Odds(20, np.arange(20).reshape(10, 2), np.where(same, 1.0, -1.0))
    within, between = 3.5 / 5, 1.5 / 7
    difference, error = contrast(together, odds)
    assert difference == pytest.approx(within - between)
    assert error == pytest.approx(np.sqrt(within * (1 - within) / 5 + between * (1 - between) / 7))


def test_answers_about_likely_pairs_count_as_in_a_random_sample() -> None:
    pairs = [(i, j) for i in range(4) for j in range(4, 14)]
    odds = odds_of(pairs, [1.0] * 20 + [0.0] * 20, 14)
    assert odds.weight.tolist() == [1.0] * 40  # how many classes there are is not known
    heavy = Odds(14, odds.ends, odds.credit, n_classes=20)
    assert heavy.weight[heavy.credit > 0].sum() == pytest.approx(40 / 20)
    assert heavy.weight.sum() == pytest.approx(40)
    few_classes = Odds(14, odds.ends, odds.credit, n_classes=3)
    assert not few_classes.is_same_heavy  # random pairs of three classes may well say "same" as often


def test_merged_classes_do_not_look_good_where_most_were_asked_for_likely_pairs() -> None:
    random, n_classes = np.random.default_rng(0), 50
    label = random.integers(n_classes, size=4000)
    ends = random.integers(4000, size=(200_000, 2))
    same = label[ends[:, 0]] == label[ends[:, 1]]
    chosen = np.concatenate([np.flatnonzero(same)[:2500], np.flatnonzero(~same)[:2500]])
    odds = Odds(4000, ends[chosen], np.where(same[chosen], 1.0, -1.0), n_classes)
    merged = label // 2  # every two classes
    torn = np.where(random.random(4000) < 0.1, random.integers(n_classes, size=4000), label)  # nine in ten are right
    together = [part[odds.ends[:, 0]] == part[odds.ends[:, 1]] for part in (torn, merged)]
    assert f_score(together[0], odds) > f_score(together[1], odds) + 5  # by more than chance
    assert log_likelihood(together[0], odds) < log_likelihood(together[1], odds)  # which would choose the merged ones


def test_clusters_are_brought_into_the_order_of_another() -> None:
    q = unit_rows(np.random.default_rng(0).random((9, 3)))
    assert (aligned(q[:, [2, 0, 1]], q) == q).all()


@pytest.mark.parametrize("seed", range(3))
def test_answers_find_what_k_means_does_not(seed: int) -> None:
    """Wide clusters side by side, which k-means cuts across."""
    X, y = make_blobs(300, centers=[[0, 0], [0, 3], [0, 6]], random_state=seed)
    X *= [3, 1]
    pairs = Pairs.from_labels(y, n=300, random_state=seed)
    found = Agglomeration(n_clusters=3, random_state=seed).fit(X, pairs=pairs).labels_
    alone = KMeans(3, n_init=10, random_state=seed).fit(X).labels_
    assert adjusted_rand_score(y, found) > adjusted_rand_score(y, alone) + 0.1


@pytest.mark.parametrize("wrong", [0.0, 0.1])
def test_wrong_answers_are_outvoted_and_their_share_is_found(wrong: float) -> None:
    X, y = make_blobs(400, centers=6, random_state=2, cluster_std=0.8)
    pairs = Pairs.from_labels(y, n=800, random_state=0)
    flipped = np.random.default_rng(0).random(800) < wrong
    pairs = Pairs.from_arrays(np.stack([pairs.left, pairs.right], 1), np.where(flipped, 1 - pairs.same, pairs.same))
    found = Agglomeration(n_clusters=6).fit(X, pairs=pairs)
    assert adjusted_rand_score(y, found.labels_) > 0.91  # k-means alone: 0.92, so that wrong answers do no harm
    assert found.wrong_ == pytest.approx(max(flipped.mean(), 0.005), abs=0.03)


def test_the_same_seed_gives_the_same_clusters() -> None:
    X, y = make_blobs(150, centers=4, random_state=2, cluster_std=2.0)
    pairs = Pairs.from_labels(y, n=100, random_state=0)
    first, second = (Agglomeration(n_clusters=4, random_state=5).fit(X, pairs=pairs).posterior_ for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("n", [2, 3, 5, 12])
def test_a_few_items_are_enough(n: int) -> None:
    X = np.random.default_rng(0).normal(size=(n, 3))
    X[1] = X[0] + 5
    labels = Agglomeration(n_clusters=2).fit(X, pairs=Pairs.from_arrays([(0, 1)], [0])).labels_
    assert labels[0] != labels[1]


def test_a_second_look_takes_no_notice_of_directions_in_which_classes_are_wide() -> None:
    X, y = make_blobs(400, centers=8, n_features=6, random_state=0, cluster_std=2.5)
    X = np.concatenate([X, 15 * np.random.default_rng(0).normal(size=(400, 2))], axis=1)
    odds = Odds.of(read_constraints(Pairs.from_labels(y, n=400, random_state=0), 400), 8)
    once, twice = (agglomerate({"items": X}, odds, 8, 0, again=again).posterior.argmax(1) for again in (False, True))
    assert adjusted_rand_score(y, twice) > adjusted_rand_score(y, once) + 0.05
