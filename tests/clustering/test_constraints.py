"""Answers as must-links and cannot-links: sums, soft answers, contradictions."""

from __future__ import annotations

import numpy as np
import pytest

from likewise import InputError, Pairs
from likewise.clustering import read_constraints

CHAIN = Pairs.from_arrays([(0, 1), (1, 2), (0, 2), (3, 4)], [1, 0.9, 0, 0])  # a=b, b=c, a!=c; the middle one is weakest


def test_answers_about_one_pair_are_summed() -> None:
    pairs = Pairs.from_arrays([(0, 1), (1, 0), (2, 1), (1, 2), (3, 0)], [1, 0.25, 0, 0.75, 0.5], weight=[2, 1, 1, 2, 9])
    given = read_constraints(pairs, 5)
    assert given.must_link.tolist() == [[0, 1]]
    assert given.must_weight.tolist() == [2 - 0.5]
    assert given.cannot_link.tolist() == []  # 1 against, 2 * 0.5 for: nothing is left; and 0.5 says nothing
    assert len(given) == 1


def test_an_item_and_itself_say_nothing() -> None:
    given = read_constraints(Pairs.from_arrays([(1, 1), (0, 0), (0, 1)], [1, 0, 0]), 2)
    assert given.must_link.tolist() == []
    assert given.cannot_link.tolist() == [[0, 1]]


def test_the_matrices_are_what_the_lists_say() -> None:
    random = np.random.default_rng(0)
    pairs = Pairs.from_arrays(random.integers(0, 9, (40, 2)), random.random(40), weight=random.random(40))
    given = read_constraints(pairs, 9)
    expected = np.zeros((9, 9))
    for i, j, same, weight in zip(pairs.left, pairs.right, pairs.same, pairs.weight, strict=True):
        if i != j:
            expected[i, j] += weight * (2 * same - 1)
            expected[j, i] += weight * (2 * same - 1)
    np.testing.assert_allclose(given.signed.toarray(), expected, atol=1e-6)
    np.testing.assert_allclose(given.must.toarray(), np.maximum(expected, 0), atol=1e-6)
    np.testing.assert_allclose(given.cannot.toarray(), np.maximum(-expected, 0), atol=1e-6)
    assert (given.must_weight > 0).all()
    assert (given.cannot_weight > 0).all()


def test_components_are_chains_of_must_links() -> None:
    given = read_constraints(Pairs.from_links([(4, 1), (1, 3)], [(0, 2)]), 6)
    assert given.component.tolist() == [0, 1, 2, 1, 1, 3]


def test_no_answers_no_constraints() -> None:
    given = read_constraints(None, 3)
    assert len(given) == 0
    assert given.component.tolist() == [0, 1, 2]
    assert given.signed.nnz == 0


def test_contradictions_are_accepted_refused_or_repaired() -> None:
    accepted = read_constraints(CHAIN, 5)
    assert len(accepted) == 4
    with pytest.raises(InputError, match="0=1, 1=2, but 0!=2; rows 0, 1, 2"):
        read_constraints(CHAIN, 5, contradictions="refuse")
    with pytest.warns(UserWarning, match="1 of 4 are left out"):
        repaired = read_constraints(CHAIN, 5, contradictions="repair")
    assert repaired.must_link.tolist() == [[0, 1]]
    assert repaired.cannot_link.tolist() == [[0, 2], [3, 4]]


def test_sound_answers_are_neither_refused_nor_repaired() -> None:
    for choice in ("refuse", "repair"):
        assert len(read_constraints(CHAIN.select(np.array([0, 1, 3])), 5, choice)) == 3  # type: ignore[arg-type]


def test_refusals() -> None:
    with pytest.raises(InputError, match="one of refuse, repair here, got 'accept'"):
        read_constraints(CHAIN, 5, "accept", hard=True)
    with pytest.raises(InputError, match="one of accept, refuse, repair here, got 'ignore'"):
        read_constraints(CHAIN, 5, "ignore")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="pairs must be a Pairs, got list"):
        read_constraints([(0, 1, 1)], 5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not among the 4 items"):
        read_constraints(CHAIN, 4)
    with pytest.raises(InputError, match="have no ids"):
        read_constraints(Pairs.from_arrays([("a", "b")], [1]), 2)
