"""Wrong answers that a classifier has learned: by how much rates are too low, by the answers that it was not taught."""

from __future__ import annotations

import numpy as np

from likewise.pairs import Pairs
from likewise.pairs.posterior import infer
from likewise.pairs.rates import HIDDEN, AnswersByAnnotator, hidden_errors

TRUTH = np.array([[0.05, 0.25, 0.4], [0.02, 0.05, 0.1]])  # false different and false same of three annotators


def answers(n: int, seed: int, unsure: float = 0.0) -> tuple[AnswersByAnnotator, np.ndarray]:
    """One in five pairs is the same; P(same) by everything else is sure and right, but for a share of the pairs."""
    random = np.random.default_rng(seed)
    same, who = random.random(n) < 0.2, random.integers(3, size=n)
    wrong = random.random(n) < np.where(same, TRUTH[0][who], TRUTH[1][who])
    said = (same ^ wrong).astype(np.float64)
    p = np.where(random.random(n) < unsure, 0.2, np.where(same, 1.0, 0.0))
    return AnswersByAnnotator(said, np.ones(n), who, 3), p


def log_posterior(told: AnswersByAnnotator, p: np.ndarray, e: np.ndarray, d: np.ndarray, a: float, b: float) -> float:
    """As the docstring has it, answer by answer."""
    total = -((a / HIDDEN[0]) ** 2 + (b / HIDDEN[1]) ** 2) / 2
    for y, who, same in zip(told.same, told.who, p, strict=True):
        says_same = same * (1 - e[who] - a) + (1 - same) * (d[who] + b)
        total += np.log(says_same if y else 1 - says_same)
    return float(total)


def test_the_most_likely_addition_is_that_of_a_search() -> None:
    told, p = answers(800, seed=1, unsure=0.2)
    e, d = 0.6 * TRUTH
    found = hidden_errors(told, p, e, d)
    steps = 0.004
    values = {
        (a, b): log_posterior(told, p, e, d, a, b)
        for a in np.arange(0, 0.2, steps)
        for b in np.arange(0, 0.06, steps)
        if abs(a - found.added[0]) < 0.03 and abs(b - found.added[1]) < 0.03
    }
    best = max(values, key=lambda place: values[place])
    assert len(values) > 50
    np.testing.assert_allclose(found.added, best, atol=steps)
    assert (found.added > 0.01).all()


def test_nothing_is_added_where_rates_are_high_enough() -> None:
    told, p = answers(2000, seed=2)
    assert hidden_errors(told, p, *(1.5 * TRUTH)).added.tolist() == [0.0, 0.0]


def test_the_addition_is_as_unsure_as_it_says() -> None:
    e, d = TRUTH - [[0.05], [0.015]]
    errors = []
    for seed in range(60):
        found = hidden_errors(*answers(1500, seed=10 + seed), e, d)
        errors.append((found.added - [0.05, 0.015]) / np.sqrt(np.diag(found.covariance)))
    inside = np.abs(errors) < 1.96
    assert inside.mean() > 0.9
    assert np.abs(np.mean(errors, axis=0)).max() < 0.6  # the prior draws towards 0


def test_intervals_hold_the_truth_though_the_classifier_has_learned_wrong_answers() -> None:
    """Its outputs for a tenth of the items say what wrong answers want: with a false "same" it is the other's class."""
    random = np.random.default_rng(0)
    held, plain = [], []
    for _ in range(8):
        n_items, n = 3000, 2400
        classes = random.integers(5, size=n_items)
        left = random.integers(n_items, size=n)
        right = (left + random.integers(1, n_items, size=n)) % n_items
        same = classes[left] == classes[right]
        wrong = random.random(n) < np.where(same, 0.2, 0.1)
        pairs = Pairs.from_arrays(np.stack([left, right], axis=1), same ^ wrong).index(n_items)
        untaught = np.arange(n) % 8 == 0
        seen = classes.copy()
        learned = np.flatnonzero(wrong & ~same & ~untaught)[:60]
        seen[left[learned]] = classes[right[learned]]
        unary = np.full((n_items, 5), np.log(0.001))
        unary[np.arange(n_items), seen] = np.log(0.996)
        for chosen, kept in ((untaught, held), (None, plain)):
            rates = infer(pairs, None, unary, None, None, 0.01, untaught=chosen).rates
            kept.append(rates.false_same_interval[0, 0] <= 0.1 <= rates.false_same_interval[0, 1])
    assert np.mean(plain) < 0.6
    assert np.mean(held) > 0.8
