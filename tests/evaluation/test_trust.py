"""Whether to trust a similarity: its shares against a loop over all triples, and what is said of useless ones."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from likewise.evaluation import Trust, trust


def blocks(*sizes: int, same: float = 0.95, different: float = 0.05) -> NDArray[np.float64]:
    """The similarity of classes that are told apart."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(label[:, None] == label, same, different)


def test_against_a_loop_over_all_triples() -> None:
    random = np.random.default_rng(0)
    s = random.random((9, 9))
    s = (s + s.T) / 2
    s[4], s[:, 4] = 0.1, 0.1  # this one is like no other
    chains = [(i, k) for i, j, k in itertools.permutations(range(9), 3) if s[i, j] > 0.5 and s[j, k] > 0.5]
    pairs = list(itertools.permutations(range(9), 2))
    found = trust(s)
    assert 0 < found.closed < 1
    assert found.closed == pytest.approx(sum(s[i, k] > 0.5 for i, k in chains) / len(chains))
    assert found.confident == pytest.approx(np.mean([s[i, j] < 0.2 or s[i, j] > 0.8 for i, j in pairs]))
    assert found.together == pytest.approx(np.mean([s[i, j] > 0.5 for i, j in pairs]))
    alone = [not any(s[i, j] > 0.5 for j in range(9) if j != i) for i in range(9)]
    assert alone[4]
    assert found.alone == pytest.approx(np.mean(alone))


def test_an_item_and_itself_do_not_count() -> None:
    s = blocks(3, 4, 5)
    assert trust(s) == trust(s * (1 - np.eye(12)))


def test_classes_that_are_told_apart_leave_no_doubt() -> None:
    found = trust(blocks(3, 4, 5))
    assert (found.confident, found.closed, found.alone) == (1, 1, 0)
    assert found.doubts == ()


def test_two_items_are_enough() -> None:
    assert trust([[1, 0.9], [0.9, 1]]) == Trust(1, 1, 0, 1)
    assert trust([[1, 0.5], [0.5, 1]]) == Trust(0, 1, 1, 0)


def test_one_half_is_not_the_same_and_the_limits_of_confidence_are_not_confident() -> None:
    s = np.array([[1, 0.2, 0.8], [0.2, 1, 0.5], [0.8, 0.5, 1]], dtype=np.float32)
    assert trust(s).confident == pytest.approx(np.mean([v < 0.2 or v > 0.8 for v in s[~np.eye(3, dtype=bool)]]))
    assert trust(s).together == pytest.approx(1 / 3)


RING = np.eye(20)
RING[np.arange(20), (np.arange(20) + 1) % 20] = RING[(np.arange(20) + 1) % 20, np.arange(20)] = 1  # i = i + 1 alone


@pytest.mark.parametrize(
    ("similarity", "doubt"),
    [
        (blocks(5, 5, same=0.7, different=0.3), "it is sure of 0 % of the pairs only"),
        (RING, "it contradicts itself in 100 % of the chains i = j = k"),
        (np.eye(10), "it finds nothing that is the same as 100 % of the items"),
        (np.full((10, 10), 0.9), "it takes 100 % of the pairs for the same"),
    ],
)
def test_each_kind_of_useless_is_said(similarity: NDArray[np.float64], doubt: str) -> None:
    assert trust(similarity).doubts == (doubt,)


def test_the_doubts_begin_past_their_limits() -> None:
    assert Trust(0.5, 0.5, 0.5, 0.9).doubts == ()
    assert len(Trust(0.49, 0.49, 0.51, 0.91).doubts) == 4


@pytest.mark.parametrize("similarity", [[0.5, 0.5], [[0.5]], np.ones((2, 3))])
def test_no_matrix_of_pairs_is_refused(similarity: object) -> None:
    with pytest.raises(ValueError, match=r"must be \(n, n\) for two items or more, got"):
        trust(similarity)  # type: ignore[arg-type]
