"""All answers judged together, against sums over every grouping and every labelling, and against simulated people."""

from __future__ import annotations

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from likewise.errors import InputError
from likewise.pairs import Pairs
from likewise.pairs.groupings import Groupings, colouring
from likewise.pairs.memberships import Wiring, propagate


def every_labelling(n: int, n_labels: int, weight: Any) -> np.ndarray:
    """(n, n) P(same) by a sum over all labellings, one by one."""
    total, same = 0.0, np.zeros((n, n))
    for labels in product(range(n_labels), repeat=n):
        likely = weight(labels)
        total += likely
        for a in range(n):
            for b in range(n):
                same[a, b] += likely * (labels[a] == labels[b])
    return same / total


def every_grouping(n: int) -> list[list[int]]:
    """The block of each item, for all groupings."""
    found = [[0]]
    for _ in range(n - 1):
        found = [[*blocks, block] for blocks in found for block in range(max(blocks) + 2)]
    return found


def odds_of(said: float, weight: float, e: float, d: float) -> float:
    if_same = said * (1 - e) + (1 - said) * e
    if_different = said * d + (1 - said) * (1 - d)
    return (if_same / if_different) ** weight


def random_answers(n: int, m: int, seed: int) -> tuple[Pairs, list[tuple[int, int, float, float]]]:
    random = np.random.default_rng(seed)
    chain = [(k, k + 1) for k in range(n - 1)]  # so that all hang together
    more = [tuple(random.choice(n, 2, replace=False).tolist()) for _ in range(m)]
    index = [*chain, *more]
    said = random.choice([0.0, 0.2, 1.0], size=len(index))
    weight = random.choice([0.5, 1.0, 2.0], size=len(index))
    rows = [(a, b, float(np.float32(y)), float(w)) for (a, b), y, w in zip(index, said, weight, strict=True)]
    return Pairs.from_arrays(index, said, weight), rows


@pytest.mark.parametrize(
    ("n", "n_classes", "seed"), [(2, 2, 0), (3, 3, 1), (5, 2, 2), (6, 4, 3), (7, 20, 4), (8, 5, 5)]
)
def test_p_same_equals_the_sum_over_all_groupings(n: int, n_classes: int, seed: int) -> None:
    pairs, rows = random_answers(n, 6, seed)
    total, same = 0.0, np.zeros((n, n))
    for blocks in every_grouping(n):
        likely = float(math.perm(n_classes, max(blocks) + 1))
        for a, b, said, weight in rows:
            likely *= odds_of(said, weight, 0.1, 0.2) if blocks[a] == blocks[b] else 1.0
        total += likely
        for a, b in product(range(n), repeat=2):
            same[a, b] += likely * (blocks[a] == blocks[b])
    same /= total
    found = pairs.posterior(n_classes=n_classes, rates=(0.1, 0.2))
    assert found.exact
    np.testing.assert_allclose(found.same, [same[a, b] for a, b, *_ in rows], rtol=1e-10)
    i, j = np.indices((n, n)).reshape(2, -1)
    np.testing.assert_allclose(found.probability_same(i, j), same.ravel(), rtol=1e-10)
    says = np.array([said > 0.5 for _, _, said, _ in rows])
    np.testing.assert_allclose(found.right, np.where(says, found.same, 1 - found.same))


@pytest.mark.parametrize("outside", [0.0, 0.1])
def test_with_unary_terms_it_equals_the_sum_over_all_labellings(outside: float) -> None:
    n, n_classes = 5, 3
    pairs, rows = random_answers(n, 4, 7)
    probability = np.random.default_rng(0).dirichlet(np.ones(n_classes), n)
    prior = np.concatenate([(1 - outside) * probability, np.full((n, 1), outside)], axis=1)
    total, same, classes = 0.0, np.zeros((n, n)), np.zeros_like(prior)
    for labels in product(range(n_classes + 1), repeat=n):
        likely = math.prod(prior[a, labels[a]] for a in range(n))
        for a, b, said, weight in rows:
            likely *= odds_of(said, weight, 0.1, 0.2) if labels[a] == labels[b] < n_classes else 1.0
        total += likely
        for a in range(n):
            classes[a, labels[a]] += likely
            for b in range(n):
                same[a, b] += likely * (a == b or labels[a] == labels[b] < n_classes)
    found = pairs.posterior(unary=np.log(probability), rates=(0.1, 0.2), outside=outside)
    assert found.exact
    assert found.classes is not None
    assert found.outside is not None
    np.testing.assert_allclose(found.classes, classes[:, :-1] / total, rtol=1e-9)
    np.testing.assert_allclose(found.outside, classes[:, -1] / total, rtol=1e-9, atol=1e-300)
    i, j = np.indices((n, n)).reshape(2, -1)
    np.testing.assert_allclose(found.probability_same(i, j), same.ravel() / total, rtol=1e-9)


def test_belief_propagation_is_exact_on_a_tree() -> None:
    n, n_classes = 6, 3
    i, j = np.array([0, 1, 1, 3, 3]), np.array([1, 2, 3, 4, 5])
    random = np.random.default_rng(1)
    odds, prior = random.normal(0, 3, 5), random.dirichlet(np.ones(n_classes), n)

    def weight(labels: tuple[int, ...]) -> float:
        held = sum(odds[k] for k in range(5) if labels[i[k]] == labels[j[k]])
        return math.exp(held) * math.prod(prior[a, labels[a]] for a in range(n))

    same = every_labelling(n, n_classes, weight)
    impossible = np.full((n, 1), -700.0)
    found = propagate(Wiring(i, j, n), odds, np.concatenate([np.log(prior), impossible], axis=1))
    assert found.converged
    np.testing.assert_allclose(found.same, same[i, j], rtol=1e-9)


def test_messages_that_do_not_settle_give_way_to_mean_field() -> None:
    n = 12  # all pairs of them different, by far more than two classes allow
    i, j = np.array(list(combinations(range(n), 2))).T
    unary = np.log(np.array([[0.5, 0.5, 1e-9]] * n)) + np.random.default_rng(0).normal(0, 0.1, (n, 3))
    found = propagate(Wiring(i, j, n), np.full(len(i), -8.0), unary)
    assert not found.converged
    np.testing.assert_allclose(found.classes.sum(axis=1), 1)
    assert ((found.same >= 0) & (found.same <= 1)).all()


@pytest.mark.parametrize("table", [64, 0])  # of labels, or a list
def test_large_components_are_sampled_near_the_exact_posterior(monkeypatch: pytest.MonkeyPatch, table: int) -> None:
    monkeypatch.setattr("likewise.pairs.groupings.TABLE", table)
    pairs, _ = random_answers(8, 14, 11)
    exact = pairs.posterior(n_classes=4, rates=(0.1, 0.1))
    i, j = np.triu_indices(8, 1)
    all_pairs = exact.probability_same(i, j)
    monkeypatch.setattr("likewise.pairs.enumeration.MOST_ITEMS", 2)
    monkeypatch.setattr("likewise.pairs.groupings.LAST_SWEEPS", 700)
    monkeypatch.setattr("likewise.pairs.groupings.KEPT", 700)
    sampled = pairs.posterior(n_classes=4, rates=(0.1, 0.1))
    assert (exact.exact, sampled.exact) == (True, False)
    np.testing.assert_allclose(sampled.same, exact.same, atol=0.04)
    np.testing.assert_allclose(sampled.probability_same(i, j), all_pairs, atol=0.08)


def test_a_long_chain_without_a_loop_has_the_odds_of_each_answer_alone() -> None:
    index = [(k, k + 1) for k in range(50)]
    found = Pairs.from_arrays(index, [1, 0] * 25).posterior(n_classes=5, rates=(0.1, 0.1))
    np.testing.assert_allclose(found.same, [9 / (9 + 4), (1 / 9) / (1 / 9 + 4)] * 25)
    assert found.exact


def test_as_the_rates_go_to_zero_the_posterior_becomes_the_closure() -> None:
    random = np.random.default_rng(0)
    for n_items, n_answers in ((7, 9), (40, 90)):  # enumerated, and sampled
        labels = random.integers(3, size=n_items)
        i = random.integers(n_items, size=n_answers)
        j = (i + random.integers(1, n_items, size=n_answers)) % n_items
        pairs = Pairs.from_arrays(np.stack([i, j], axis=1), labels[i] == labels[j]).index(n_items)
        left, right = np.triu_indices(n_items, 1)
        known = pairs.closure().answers_about(left, right)
        found = pairs.posterior(n_classes=n_items, rates=(1e-9, 1e-9)).probability_same(left, right)
        there = ~np.isnan(known)
        assert there.sum() > n_answers / 2
        np.testing.assert_allclose(found[there], known[there], atol=1e-4)


@pytest.mark.parametrize("weakest", [0, 1, 2])
def test_of_three_answers_that_contradict_each_other_the_least_credible_gives_way(weakest: int) -> None:
    weight = [2.0, 2.0, 2.0]
    weight[weakest] = 1.0
    pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "c")], [1, 1, 0], weight)
    found = pairs.posterior(n_classes=3, rates=(0.05, 0.05))
    assert found.least_credible(1).tolist() == [weakest]
    o = [19.0**w for w in weight]  # a = b = c against each of the groupings in which one or two answers are wrong
    weights = {"abc": o[0] * o[1] / o[2] * 3, "ab": o[0] * 6, "bc": o[1] * 6, "ac": 6 / o[2], "": 6.0}
    right = [
        weights["abc"] + weights["ab"],
        weights["abc"] + weights["bc"],
        sum(weights.values()) - weights["abc"] - weights["ac"],
    ]
    np.testing.assert_allclose(found.right, np.array(right) / sum(weights.values()), rtol=1e-10)


def people(
    e: list[float], d: list[float], *, n: int = 40, n_classes: int = 3, m: int = 500, seed: int = 0
) -> tuple[Pairs, np.ndarray, np.ndarray]:
    """Answers of people with these rates about random pairs, which are wrong, and the classes."""
    random = np.random.default_rng(seed)
    classes, who = random.integers(n_classes, size=n), random.integers(len(e), size=m)
    who[: len(e)] = np.arange(len(e))
    i = random.integers(n, size=m)
    j = (i + random.integers(1, n, size=m)) % n
    same = classes[i] == classes[j]
    wrong = random.random(m) < np.where(same, np.array(e)[who], np.array(d)[who])
    names = np.array([f"p{k}" for k in range(len(e))])[who]
    return Pairs.from_arrays(np.stack([i, j], axis=1), same ^ wrong, annotator=names).index(n), wrong, classes


def test_rates_are_found_with_intervals_that_hold_them() -> None:
    hits, runs = np.zeros(3), 8
    for seed in range(runs):
        pairs, wrong, _ = people([0.1, 0.2], [0.15, 0.05], n=40, m=400, seed=seed)
        found = pairs.posterior(n_classes=3)
        rates = found.rates
        assert rates.annotators == ("p0", "p1")
        for which, (interval, truth) in enumerate(
            ((rates.false_different_interval, [0.1, 0.2]), (rates.false_same_interval, [0.15, 0.05]))
        ):
            hits[which] += ((interval[:, 0] <= truth) & (truth <= interval[:, 1])).mean()
        hits[2] += found.share_wrong_interval[0] <= wrong.mean() <= found.share_wrong_interval[1]
        np.testing.assert_allclose(rates.false_same, [0.15, 0.05], atol=0.08)
    assert (hits / runs >= 0.85).all()


def test_wrong_answers_are_found() -> None:
    pairs, wrong, _ = people([0.1] * 2, [0.1] * 2)
    found = pairs.posterior()
    assert found.supported
    assert roc_auc_score(wrong, 1 - found.right) > 0.98
    rows = found.least_credible()
    assert wrong[rows[:30]].all()
    assert (np.diff(found.right[rows]) >= 0).all()


def test_unary_terms_find_wrong_answers_where_few_bear_on_each_other() -> None:
    pairs, wrong, classes = people([0.1], [0.1], n=600, n_classes=10, m=1500)
    random = np.random.default_rng(0)
    logits = random.normal(0, 1, (600, 10)) + 6 * np.eye(10)[classes]
    found = pairs.posterior(unary=logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))
    assert roc_auc_score(wrong, 1 - found.right) > 0.97
    assert found.converged
    assert found.share_wrong == pytest.approx(wrong.mean(), abs=0.02)
    assert found.classes is not None
    assert (found.classes.argmax(axis=1) == classes).mean() > 0.97


def test_who_answers_at_random_or_the_wrong_way_round_is_found() -> None:
    pairs, _, _ = people([0.05, 0.05, 0.5, 0.95], [0.05, 0.05, 0.5, 0.95], m=1200)
    found = pairs.posterior(n_classes=3)
    order = [found.rates.annotators.index(f"p{k}") for k in range(4)]
    assert found.rates.random[order].tolist() == [False, False, True, False]
    assert found.rates.reversed[order].tolist() == [False, False, False, True]
    np.testing.assert_allclose(found.rates.informedness[order], [0.9, 0.9, 0, -0.9], atol=0.15)


def test_one_with_few_answers_is_taken_to_be_like_the_others() -> None:
    pairs, _, _ = people([0.1] * 3, [0.1] * 3)
    asked = np.concatenate([np.stack([pairs.left, pairs.right], axis=1), [[0, 1]]])
    who = [*np.array(pairs.annotators)[pairs.annotator], "new"]
    found = Pairs.from_arrays(asked, [*pairs.same, 1], annotator=who).posterior(n_classes=3)
    new = found.rates.annotators.index("new")
    assert found.rates.n_answers[new] == 1
    np.testing.assert_allclose(found.rates.false_same[new], np.delete(found.rates.false_same, new).mean(), atol=0.05)
    low, high = found.rates.false_same_interval[new]
    assert high - low > 0.1


def test_nothing_is_claimed_of_pure_noise() -> None:
    random = np.random.default_rng(0)
    i = random.integers(60, size=600)
    j = (i + random.integers(1, 60, size=600)) % 60
    found = Pairs.from_arrays(np.stack([i, j], axis=1), random.integers(2, size=600)).posterior()
    assert not found.supported


def test_nothing_is_claimed_where_too_few_answers_bear_on_each_other() -> None:
    pairs, _, _ = people([0.1], [0.1], n=600, n_classes=10, m=1700, seed=2)
    assert pairs.posterior().n_redundant > 1000
    assert not pairs.posterior().supported


def test_an_item_in_two_classes_and_one_in_none_are_outliers() -> None:
    classes = np.repeat([0, 1, 2], 10)
    i, j = np.triu_indices(30, 1)
    same = classes[i] == classes[j]
    same[(i == 0) & (classes[j] == 1)] = True  # item 0 is of class 0 and of class 1
    assert Pairs.from_arrays(np.stack([i, j], axis=1), same).posterior().outliers().tolist() == [0]
    same = (classes[i] == classes[j]) & (i != 5) & (j != 5)  # item 5 is like no other
    unary = np.log(0.1 + 0.7 * np.eye(3)[classes])
    found = Pairs.from_arrays(np.stack([i, j], axis=1), same).posterior(unary=unary)
    assert found.outside is not None
    assert found.outside[5] > 0.99
    assert np.delete(found.outside, 5).max() < 0.01
    assert found.outliers().tolist() == [5]


def test_neighbours_count_as_evidence() -> None:
    pairs = Pairs.from_arrays([(0, 1)], [1]).index(3)
    near = (np.array([[0, 1], [1, 2]]), np.log([3.0, 5.0]))
    found = pairs.posterior(n_classes=4, rates=(0.1, 0.1), neighbours=near)
    np.testing.assert_allclose(found.probability_same([0, 1], [1, 2]), [27 / 30, 5 / 8])


# What users give.


def test_an_annotator_column_half_empty_is_one_annotator_more() -> None:
    pairs, _, _ = people([0.1] * 2, [0.1] * 2, m=200)
    who = np.where(np.arange(200) % 2, "", np.array(pairs.annotators)[pairs.annotator])
    asked = np.stack([pairs.left, pairs.right], axis=1)
    rates = Pairs.from_arrays(asked, pairs.same, annotator=who).posterior().rates
    assert sorted(rates.annotators) == ["", "p0", "p1"]
    assert rates.n_answers[rates.annotators.index("")] == 100


def test_one_annotator_and_nobody_named_are_the_same() -> None:
    pairs, _, _ = people([0.1], [0.1], m=200, n=30)
    asked = np.stack([pairs.left, pairs.right], axis=1)
    named, unnamed = pairs.posterior(), Pairs.from_arrays(asked, pairs.same).posterior()
    np.testing.assert_array_equal(named.right, unnamed.right)
    assert (named.rates.annotators, unnamed.rates.annotators) == (("p0",), ("",))


def test_one_who_says_same_to_everything_says_nothing() -> None:
    pairs, _, _ = people([0.05, 0.05, 0.0], [0.05, 0.05, 1.0], m=900)
    rates = pairs.posterior(n_classes=3).rates
    assert rates.random.tolist() == [name == "p2" for name in rates.annotators]
    assert rates.says_same[rates.annotators.index("p2")] == 1


@pytest.mark.parametrize("same", [0, 1])
def test_answers_of_one_kind_alone_are_judged(same: int) -> None:
    found = Pairs.from_arrays([(k, k + 1) for k in range(10)], [same] * 10).posterior()
    assert (found.right > 0.5).all()
    assert not found.supported
    assert found.n_classes >= 2


def test_answers_of_weight_0_count_as_not_given() -> None:
    index, said = [(0, 1), (1, 2), (0, 2), (0, 2)], [1, 1, 1, 0]
    given = Pairs.from_arrays(index[:3], said[:3]).posterior(n_classes=3)
    with_more = Pairs.from_arrays(index, said, [1, 1, 1, 0]).posterior(n_classes=3)
    np.testing.assert_array_equal(with_more.same[:3], given.same)
    assert with_more.same[3] == given.same[2]
    nothing = Pairs.from_arrays(index, said, [0] * 4).posterior(n_classes=4)
    np.testing.assert_allclose(nothing.same, 0.25)
    assert not nothing.supported


def test_without_answers_nothing_is_known() -> None:
    found = Pairs.from_arrays([], []).posterior(n_classes=4)
    assert (len(found.right), found.supported) == (0, False)
    assert found.probability_same(0, 1).tolist() == [0.25]
    assert found.outliers().tolist() == []


def test_an_item_and_itself_are_the_same_and_say_nothing_of_rates() -> None:
    found = Pairs.from_arrays([(0, 0), (0, 0), (0, 1)], [1, 0, 1]).posterior()
    assert found.right[:2].tolist() == [1, 0]
    assert found.rates.n_answers.tolist() == [1]


def test_undecided_answers_say_nothing() -> None:
    found = Pairs.from_arrays([(0, 1), (1, 2)], [0.5, 1]).posterior(n_classes=4, rates=(0.1, 0.1))
    np.testing.assert_allclose(found.same, [0.25, 0.75])
    assert found.right[0] == 0.5


def test_thousands_of_annotators_with_one_answer_each() -> None:
    pairs, wrong, _ = people([0.1] * 2000, [0.1] * 2000, m=2000)
    rates = pairs.posterior(n_classes=3).rates
    assert len(rates.annotators) == 2000
    assert rates.false_same.mean() == pytest.approx(0.1, abs=0.03)
    assert np.ptp(rates.false_same) < 0.2
    assert not (rates.random | rates.reversed).any()
    assert wrong.any()


@pytest.mark.parametrize("same", [1.2, -0.1])
def test_soft_answers_outside_0_and_1_are_refused(same: float) -> None:
    with pytest.raises(InputError, match="same must be between 0 and 1"):
        Pairs.from_arrays([(0, 1)], [same])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_classes": 0}, "n_classes is 0"),
        ({"rates": (0.1, 1.0)}, "rates is"),
        ({"outside": 1.0}, "outside is 1.0"),
        ({"unary": np.zeros((2, 3))}, "unary has shape"),
        ({"unary": np.zeros((3, 2)), "n_classes": 3}, "unary has 2 columns"),
        ({"unary": np.array([[0.0, 0], [0, np.nan], [0, 0]])}, "row 1"),
        ({"neighbours": ([[0, 1]], [1.0, 2.0])}, "neighbours has"),
        ({"neighbours": ([[0, 9]], [1.0])}, "positions below 3"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Pairs.from_arrays([(0, 1), (1, 2)], [1, 0]).posterior(**arguments)


def test_the_same_answers_have_the_same_posterior() -> None:
    pairs, _, _ = people([0.1], [0.1], m=300)
    np.testing.assert_array_equal(pairs.posterior().right, pairs.posterior().right)


def test_no_two_coupled_items_have_one_colour() -> None:
    random = np.random.default_rng(0)
    i = random.integers(50, size=200)
    j = (i + random.integers(1, 50, size=200)) % 50
    colour = colouring(i, j, 50, random)
    assert (colour[i] != colour[j]).all()
    assert colour.min() == 0


def test_more_classes_are_tried_where_questions_were_mostly_about_like_pairs() -> None:
    random = np.random.default_rng(0)
    classes = np.arange(120) // 10
    i = random.integers(120, size=700)
    near = random.random(700) < 0.9
    j = np.where(near, i // 10 * 10 + (i % 10 + random.integers(1, 10, size=700)) % 10, (i + 17) % 120)
    found = Pairs.from_arrays(np.stack([i, j], axis=1), classes[i] == classes[j]).posterior()
    assert found.n_classes > 2
    assert isinstance(found.model, Groupings)
    assert (found.right > 0.5).mean() > 0.99
