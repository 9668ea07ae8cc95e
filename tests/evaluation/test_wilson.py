"""Wilson's interval against SciPy's, at its ends, and what it refuses."""

from __future__ import annotations

import pytest
from scipy.stats import binomtest

from likewise.evaluation import wilson


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
