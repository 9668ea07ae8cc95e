"""Shortest chains, searched from both ends, against SciPy's distances; one graph is searched many times."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from likewise.pairs import chains as module
from likewise.pairs.chains import Chains


@pytest.mark.parametrize("links", [40, 60, 120])
@pytest.mark.parametrize("meeting", [0, 10**9])  # always from both ends, or always SciPy's search from one
def test_every_chain_is_a_shortest_one(links: int, meeting: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEETING", meeting)
    n = 30
    left, right = np.random.default_rng(links).integers(n, size=(2, links))
    graph = coo_array((np.ones(links), (left, right)), shape=(n, n))
    distance = shortest_path(graph, directed=False, unweighted=True)
    linked = {(int(i), int(j)) for i, j in zip([*left, *right], [*right, *left], strict=True)}
    chains = Chains(left, right, n)
    reached = [(i, j) for i in range(n) for j in range(n) if np.isfinite(distance[i, j])]
    assert len(reached) > 400
    for source, target in reached:
        (chain,) = chains.between(source, [target])
        assert (chain[0], chain[-1], len(chain) - 1) == (source, target, distance[source, target])
        assert linked.issuperset(pairwise(chain))


def test_a_long_chain_is_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEETING", 0)
    monkeypatch.setattr(module, "LEVELS", 10)
    chains = Chains(np.arange(49), np.arange(1, 50), 50)
    assert chains.between(3, [5, 45, 3]) == [[3, 4, 5], list(range(3, 46)), [3]]
    assert chains.between(45, [44, 3]) == [[45, 44], list(range(45, 2, -1))]
