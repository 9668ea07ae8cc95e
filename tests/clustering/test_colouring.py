"""Colouring against the list of all there are, and where a search in one direction would give up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.clustering.colouring import NoColouring, colour


def graph(n: int, edges: list[tuple[int, int]]) -> csr_array:
    matrix = np.zeros((n, n))
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return csr_array(matrix)


def is_proper(apart: csr_array, labels: NDArray[np.int64]) -> bool:
    i, j = apart.nonzero()
    return bool((labels[i] != labels[j]).all())


def test_it_finds_one_exactly_where_there_is_one() -> None:
    random = np.random.default_rng(0)
    found = []
    for _ in range(100):
        n, k = int(random.integers(2, 7)), int(random.integers(1, 4))
        apart = graph(n, [pair for pair in itertools.combinations(range(n), 2) if random.random() < 0.6])
        found.append(any(is_proper(apart, np.array(labels)) for labels in itertools.product(range(k), repeat=n)))
        if found[-1]:
            assert is_proper(apart, colour(random.random((n, k)), apart, max_dead_ends=10**6)[0])
        else:
            with pytest.raises(NoColouring) as none:
                colour(random.random((n, k)), apart, max_dead_ends=10**6)
            assert none.value.proven
    assert 20 < sum(found) < 80  # both happened


def test_costs_decide_where_links_leave_a_choice() -> None:
    cost = np.array([[0.0, 5.0, 9.0], [0.0, 1.0, 9.0], [7.0, 7.0, 0.0]])
    labels, part = colour(cost, graph(3, [(0, 1)]), max_dead_ends=0)
    assert labels.tolist() == [0, 1, 2]  # the first loses more if it has to give way
    assert part.tolist() == [0, 0, 1]


def test_it_backs_out_of_a_dead_end() -> None:
    """The wheel of 6: nearest first without a way back leaves the hub without a colour, yet three are enough."""
    rim = [(i, (i + 1) % 6) for i in range(6)]
    apart = graph(7, rim + [(6, i) for i in range(6)])
    cost = np.zeros((7, 3))
    cost[np.arange(6), [0, 1, 2, 0, 1, 2]] = -1.0
    assert is_proper(apart, colour(cost, apart, max_dead_ends=100)[0])


def test_one_too_many_all_different_is_proven_at_once() -> None:
    clique = graph(21, list(itertools.combinations(range(21), 2)))
    with pytest.raises(NoColouring) as error:
        colour(np.random.default_rng(0).random((21, 20)), clique, max_dead_ends=1000)
    assert error.value.proven
    assert sorted(error.value.groups) == list(range(21))


def planted(n: int, k: int, share: float) -> tuple[csr_array, NDArray[np.float64]]:
    """A graph that has a colouring, with costs that say nothing about it."""
    random = np.random.default_rng(1)
    hidden = random.integers(0, k, n)
    edges = [
        (i, j) for i, j in itertools.combinations(range(n), 2) if hidden[i] != hidden[j] and random.random() < share
    ]
    return graph(n, edges), random.random((n, k))


def test_after_too_many_dead_ends_moves_find_it() -> None:
    apart, cost = planted(100, 4, 0.1)
    assert is_proper(apart, colour(cost, apart, max_dead_ends=3000)[0])
    with pytest.raises(NoColouring) as error:
        colour(cost, apart, max_dead_ends=1)
    assert not error.value.proven
