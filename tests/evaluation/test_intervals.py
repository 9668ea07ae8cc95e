"""The interval by items: that of independent answers where no item comes twice, and an honest one where items do."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from likewise.evaluation import intervals, share_interval, wilson


def test_answers_that_share_no_item_are_independent() -> None:
    hit = np.random.default_rng(0).random(400) < 0.8
    items = np.arange(800).reshape(2, 400)
    found, wanted = share_interval(hit, *items), wilson(int(hit.sum()), 400)
    assert found == pytest.approx(wanted, abs=0.005)
    assert found[1] - found[0] >= wanted[1] - wanted[0] - 1e-12  # never narrower


def misplaced(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """300 answers about 60 items, of which one in ten is misplaced: all answers about it are wrong."""
    random = np.random.default_rng(seed)
    left = random.integers(60, size=300)
    right = (left + random.integers(1, 60, size=300)) % 60
    wrong = random.random(60) < 0.1
    return ~(wrong[left] | wrong[right]), left, right


def test_the_truth_is_inside_where_items_are_right_or_wrong_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "DRAWS", 200)
    trials, inside = 60, {"items": 0, "answers": 0}
    for seed in range(trials):
        hit, left, right = misplaced(seed)
        for name, (low, high) in (
            ("items", share_interval(hit, left, right)),
            ("answers", wilson(int(hit.sum()), len(hit))),
        ):
            inside[name] += low <= 0.9**2 <= high
    assert inside["items"] >= 0.88 * trials
    assert inside["answers"] <= 0.7 * trials  # as if all answers were independent


def test_without_a_mistake_only_answers_without_a_shared_item_count() -> None:
    left, right = np.array([0, 0, 1, 4, 4]), np.array([1, 2, 2, 5, 3])
    assert share_interval(np.ones(5), left, right) == wilson(2, 2)
    assert share_interval(np.zeros(5), left, right) == wilson(0, 2)
    assert share_interval([], [], []) == (0.0, 1.0)


def test_a_seed_repeats() -> None:
    first, again, other = (share_interval(*misplaced(1), seed=seed) for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (0, 40), (40, 40), (1, 3), (149, 160), (99_999, 100_000)])
def test_equals_scipy(hits: int, n: int, confidence: float) -> None:
    expected = binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert wilson(hits, n, confidence) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_default_is_95_percent_and_no_trial_says_nothing() -> None:
    assert wilson(7, 9) == wilson(7, 9, 0.95) != wilson(7, 9, 0.9)
    assert wilson(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 3, 7, 49, 1_000_003])
def test_the_ends_are_exact(n: int) -> None:
    assert wilson(0, n)[0] == 0.0
    assert wilson(n, n)[1] == 1.0
    assert 0 < wilson(0, n)[1] < 1


@pytest.mark.parametrize(
    ("hits", "n", "confidence", "message"),
    [
        (5, 4, 0.95, "hits must be between 0 and n, got 5 of 4"),
        (-1, 4, 0.95, "hits must be between 0 and n, got -1 of 4"),
        (1, 4, 95, "confidence must be between 0 and 1, got 95"),
        (1, 4, 0, "confidence must be between 0 and 1, got 0"),
    ],
)
def test_refuses(hits: int, n: int, confidence: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        wilson(hits, n, confidence)
