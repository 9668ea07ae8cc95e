"""Random numbers among soft answers: their share, which answers may be such, and what is left alone."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from likewise.pairs import Pairs
from likewise.pairs.random_numbers import LEAST_ANSWERS, random_share, without_random_numbers


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
