"""Annotators of known reliability, and a case small enough to try every truth.

Random numbers among soft answers: their share, which answers may be such, and what is left alone.
"""

from __future__ import annotations

import math
import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from likewise.errors import InputError
from likewise.pairs import Pairs, agreement, annotators, disagreements, reliability
from likewise.pairs.annotators import LEAST_ANSWERS, random_share, without_random_numbers

ALPHA, BETA = np.array([0.95, 0.9, 0.6, 0.8]), np.array([0.9, 0.99, 0.7, 0.55])  # sensitivity and specificity
SHARE_SAME = 0.3


def simulated(n_pairs: int = 40_000, asked: int = 3) -> tuple[Pairs, np.ndarray]:
    """Each pair is put to `asked` of the four annotators, one way round or the other."""
    random = np.random.default_rng(0)
    truth = random.random(n_pairs) < SHARE_SAME
    who = np.argsort(random.random((n_pairs, 4)), axis=1)[:, :asked].ravel()
    pair = np.repeat(np.arange(n_pairs), asked)
    same = random.random(len(pair)) < np.where(truth[pair], ALPHA[who], 1 - BETA[who])
    turned = random.integers(2, size=len(pair))
    index = np.stack([2 * pair + turned, 2 * pair + 1 - turned], axis=1)
    return Pairs.from_arrays(index, same, annotator=np.array([*"abcd"])[who]), truth


def in_order(pairs: Pairs, values: np.ndarray) -> list[float]:
    """The values of a, b, c, d."""
    return [float(values[pairs.annotators.index(name)]) for name in "abcd"]


def test_reliabilities_of_simulated_annotators_are_found() -> None:
    pairs, truth = simulated()
    found = reliability(pairs)
    np.testing.assert_allclose(in_order(pairs, found.sensitivity), ALPHA, atol=0.02)
    np.testing.assert_allclose(in_order(pairs, found.specificity), BETA, atol=0.02)
    assert found.share_same == pytest.approx(SHARE_SAME, abs=0.02)
    np.testing.assert_allclose(in_order(pairs, found.accuracy), 0.3 * ALPHA + 0.7 * BETA, atol=0.02)
    assert sum(found.n_answers) == len(pairs)

    merged = found.merge()
    assert len(merged) == len(truth)
    expected = truth[np.minimum(merged.left, merged.right) // 2]
    right = (merged.same > 0.5) == expected
    votes = np.bincount(np.minimum(pairs.left, pairs.right) // 2, pairs.same) > 1.5
    assert right.mean() > (votes == truth).mean() + 0.02  # better than the majority
    sure = merged.weight > 0.5
    assert right[sure].mean() > 0.96
    for low, high in ((0.0, 0.1), (0.6, 0.8), (0.9, 1.0)):  # a probability is what it says
        there = (merged.same >= low) & (merged.same <= high)
        assert expected[there].mean() == pytest.approx(merged.same[there].mean(), abs=0.06)


answers_given = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 2), st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from([0.5, 1.0])),
    min_size=1,
    max_size=12,
)


def annotated(answers: list[Any]) -> Pairs:
    pair, who, same, weight = zip(*answers, strict=True)
    return Pairs.from_arrays([(2 * p, 2 * p + 1) for p in pair], same, weight, [f"annotator {k}" for k in who])


@given(answers_given, st.sampled_from([0.0, 1.0]))
def test_likelihood_and_posterior_equal_a_sum_over_every_truth_and_no_step_lowers_it(
    answers: list[Any], prior: float
) -> None:
    pairs = annotated(answers)
    found = reliability(pairs, prior)
    names = [2 * p for p in sorted({pair for pair, *_ in answers})]
    alpha, beta, pi = found.sensitivity, found.specificity, found.share_same

    total, same_in = 0.0, np.zeros(len(names))
    for truth in product([0, 1], repeat=len(names)):
        likelihood = math.prod(pi if same else 1 - pi for same in truth)
        for left, who, said, weight in zip(pairs.left, pairs.annotator, pairs.same, pairs.weight, strict=True):
            says_same = alpha[who] if truth[names.index(left)] else 1 - beta[who]
            likelihood *= float(says_same ** (weight * said) * (1 - says_same) ** (weight * (1 - said)))
        total += likelihood
        same_in += likelihood * np.array(truth)
    added = sum(2 * math.log(rate) + math.log(1 - rate) for rate in (*alpha, *beta)) + math.log(pi) + math.log(1 - pi)
    assert found.log_likelihood[-1] == pytest.approx(math.log(total) + prior * added, abs=1e-6)
    np.testing.assert_allclose(found.posterior, same_in / total, atol=1e-6)
    assert (np.diff(found.log_likelihood) > -1e-6).all()


def test_a_merged_pair_is_certain_where_all_agree_and_light_where_they_do_not() -> None:
    answers = {"left": [*"aabbcc"] * 9, "right": [*"xxyyzz"] * 9, "annotator": ["p", "q"] * 27}
    merged = reliability(Pairs.from_frame(answers | {"same": [1, 1, 0, 0, 1, 0] * 9})).merge()
    assert [merged.name(item) for item in merged.left] == ["a", "b", "c"]
    assert merged.annotator is None
    assert merged.annotators == ()
    assert merged.same[0] > 0.99
    assert merged.same[1] < 0.01
    assert merged.weight[2] < 0.9 * min(merged.weight[:2])
    p = merged.same.astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        bits = 1 + np.nan_to_num(p * np.log2(p)) + np.nan_to_num((1 - p) * np.log2(1 - p))
    np.testing.assert_allclose(merged.weight, bits, atol=1e-3)


@given(answers_given)
def test_agreement_equals_a_loop_and_scikit_learn(answers: list[Any]) -> None:
    answers = [*{(pair, who): (pair, who, same, weight) for pair, who, same, weight in answers}.values()]  # once each
    pairs = annotated(answers)
    found = agreement(pairs)
    said = {(f"annotator {who}", 2 * pair): same > 0.5 for pair, who, same, _ in answers}
    for (i, a), (j, b) in product(enumerate(pairs.annotators), repeat=2):
        both = [(said[a, pair], said[b, pair]) for pair in range(0, 8, 2) if (a, pair) in said and (b, pair) in said]
        assert found.shared[i, j] == len(both)
        if not both:
            assert np.isnan([found.rate[i, j], found.kappa[i, j]]).all()
            continue
        assert found.rate[i, j] == pytest.approx(np.mean([x == y for x, y in both]))
        if len({x for pair in both for x in pair}) == 1:
            assert np.isnan(found.kappa[i, j])
        else:
            assert found.kappa[i, j] == pytest.approx(cohen_kappa_score(*zip(*both, strict=True)))


def test_kappa_with_the_others_is_weighted_by_what_they_share() -> None:
    found = annotators.Agreement(
        ("a", "b", "c"),
        shared=np.array([[9, 3, 1], [3, 3, 0], [1, 0, 1]]),
        rate=np.ones((3, 3)),
        kappa=np.array([[1, 0.5, -0.5], [0.5, 1, np.nan], [-0.5, np.nan, np.nan]]),
    )
    assert found.with_others().tolist() == [0.25, 0.5, -0.5]
    alone = annotators.Agreement(("a",), np.array([[4]]), np.ones((1, 1)), np.ones((1, 1)))
    assert np.isnan(alone.with_others()).all()


def test_one_who_answered_twice_counts_with_the_mean() -> None:
    answers = {"left": [0, 0, 0, 0], "right": [1, 1, 1, 1], "same": [1, 0.9, 0, 1], "annotator": [*"aaab"]}
    found = agreement(Pairs.from_frame(answers))
    assert (found.shared[0, 1], found.rate[0, 1]) == (1, 1.0)


def test_disagreements_stand_side_by_side() -> None:
    index = [(0, 1), (2, 3), (4, 5), (3, 2), (1, 0), (0, 1), (4, 5)]
    pairs = Pairs.from_arrays(index, [1, 0, 1, 1, 0, 1, 0.5], annotator=[*"aaabbcb"])
    assert disagreements(pairs).lines.tolist() == [0, 4, 5, 1, 3]
    undecided = Pairs.from_arrays([(0, 1), (0, 1), (2, 3), (2, 3)], [0.5, 0, 0.5, 1], annotator=[*"abab"])
    assert len(disagreements(undecided)) == 0


def test_without_annotators_there_is_nothing_to_judge() -> None:
    for call in (agreement, disagreements, reliability):
        with pytest.raises(InputError, match="add a column annotator"):
            call(Pairs.from_arrays([(0, 1)], [1]))


def test_merged_answers_are_right_where_one_of_three_guesses() -> None:
    random = np.random.default_rng(0)
    truth = random.random(200) < 0.3
    said = [np.where(random.random(200) < 0.05, ~truth, truth) for _ in range(2)] + [random.random(200) < 0.5]
    index = np.tile(np.arange(400).reshape(200, 2), (3, 1))
    pairs = Pairs.from_arrays(index, np.concatenate(said), annotator=np.repeat(["a", "b", "c"], 200))
    merged = pairs.merged()
    vote = np.mean(said, axis=0) > 0.5
    sure = merged.weight > 0
    assert merged.lines.tolist() == list(range(200))
    assert ((merged.same > 0.5) == truth)[sure].mean() > 0.99 > (vote == truth).mean()
    assert ((merged.same[~sure] > 0.1) & (merged.same[~sure] < 0.9)).all()
    assert (merged.weight[sure] >= 0.5).all()
    assert 0.8 < sure.mean() < 1
    assert merged.merged() is merged


def test_answers_of_weight_0_take_no_part_in_merging() -> None:
    answers = {"left": [0, 0, 1, 2], "right": [1, 1, 2, 3], "same": [1, 0, 0, 1], "annotator": [*"abab"]}
    merged = Pairs.from_frame({**answers, "weight": [1, 1, 1, 0]}).merged()
    assert merged.right.tolist() == [1, 2]
    alone = Pairs.from_frame({**answers, "weight": [1, 0, 1, 0]})
    assert alone.merged() is alone


def test_answers_of_weight_0_count_as_not_given() -> None:
    answers = [(0, 0, 1, 1.0), (0, 1, 1, 1.0), (0, 1, 0, 0.0), (1, 0, 0, 1.0), (1, 1, 1, 0.0), (2, 1, 1, 0.0)]
    pairs = annotated(answers)
    without = annotated([one for one in answers if one[3] > 0])
    assert len(disagreements(pairs)) == 0
    found, wanted = agreement(pairs), agreement(without)
    for figure in ("shared", "rate", "kappa"):
        np.testing.assert_array_equal(getattr(found, figure), getattr(wanted, figure))
    found, wanted = reliability(pairs), reliability(without)
    np.testing.assert_array_equal(found.n_answers, [2, 1])
    np.testing.assert_array_equal(found.sensitivity, wanted.sensitivity)
    assert found.merge().lines.tolist() == [0, 3]  # nobody answered the third pair
    with pytest.raises(InputError, match="all have weight 0 and count as not given"):
        agreement(annotated([(0, 0, 1, 0.0)]))


def answers(same: np.ndarray, annotator: np.ndarray | None = None, weight: np.ndarray | None = None) -> Pairs:
    first = np.arange(len(same))
    return Pairs.from_arrays(np.stack([first, first + 1], axis=1), same, weight=weight, annotator=annotator)


def mixture(n: int, share: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers of which a share is random, the others near 0 and 1 as Beta(0.01, 0.09) has it; and which are random."""
    random = np.random.default_rng(seed)
    is_random = random.random(n) < share
    return np.where(is_random, random.random(n), random.beta(0.01, 0.09, size=n)), is_random


@pytest.mark.parametrize("share", [0.1, 0.3, 0.45])
def test_the_share_is_estimated_and_p_random_is_calibrated(share: float) -> None:
    same, is_random = mixture(20_000, share, seed=1)
    estimate, p_random = random_share(same)
    assert share - 0.01 < estimate < share + 0.06  # Beta has some density in the middle too
    for low, high in ((0.0, 0.1), (0.7, 1.01)):
        rows = (p_random >= low) & (p_random < high)
        assert rows.sum() > 300
        assert is_random[rows].mean() - 0.05 < p_random[rows].mean() < is_random[rows].mean() + 0.25  # hence too high


def test_what_may_be_random_is_not_used_and_said() -> None:
    same, is_random = mixture(9000, 0.3, seed=2)
    with pytest.warns(
        UserWarning, match="look like random numbers, spread evenly from 0 to 1: [0-9,]+ of 9,000 answers"
    ):
        kept = without_random_numbers(answers(same)).weight > 0
    assert is_random[kept].mean() < 0.05
    assert kept[~is_random].mean() > 0.85


def test_each_annotator_alone() -> None:
    noisy, is_random = mixture(3000, 0.4, seed=3)
    sure = np.where(np.arange(3000) % 10 < 2, 0.8, 0.3)  # says no more than this, and means it
    who = np.repeat(["noisy", "sure"], 3000)
    with pytest.warns(UserWarning, match="random numbers"):
        kept = without_random_numbers(answers(np.concatenate([noisy, sure]), who)).weight > 0
    assert kept[3000:].all()
    assert is_random[kept[:3000]].mean() < 0.1


UNTOUCHED = {
    "hard": np.arange(1000) % 2,
    "a few levels": np.arange(1000) % 5 / 4,
    "of one kind": np.random.default_rng(0).normal(0.6, 0.05, size=1000).clip(0, 1),
    "all spread evenly": np.random.default_rng(0).random(1000),  # ranks, perhaps
    "too few": mixture(LEAST_ANSWERS - 1, 0.3, seed=4)[0],
    "none": np.empty(0),
}


@pytest.mark.parametrize("same", UNTOUCHED.values(), ids=UNTOUCHED.keys())
def test_what_shows_no_random_numbers_stays_as_it_is(same: np.ndarray) -> None:
    with warnings.catch_warnings(action="error"):
        given = answers(same)
        assert without_random_numbers(given) is given


def test_weights_of_zero_say_nothing_of_the_density() -> None:
    same, _ = mixture(2000, 0.3, seed=5)
    rest = np.random.default_rng(6).random(5000)  # would make random numbers of them all
    weight = np.repeat([1.0, 0.0], [2000, 5000])
    with pytest.warns(UserWarning, match="of 7,000 answers"):
        kept = without_random_numbers(answers(np.concatenate([same, rest]), weight=weight)).weight > 0
    with pytest.warns(UserWarning, match="of 2,000 answers"):
        alone = without_random_numbers(answers(same)).weight > 0
    assert np.array_equal(kept[:2000], alone)
    assert not kept[2000:].any()
