"""The shortest chain of "same" answers between two items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order

from likewise.pairs.keys import distinct, keys, pairs_of

Ints = NDArray[np.int64]

STEP = 40  # a step in Python takes as long as so many in a search of the whole graph by SciPy
SEARCH = 150  # steps that it takes to set up and end a search in Python


class Chains:
    """The graph of "same" answers, to be searched breadth first.

    >>> chains = Chains(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), n=5)
    >>> chains.between(1, [3])
    [[1, 0, 3]]
    """

    def __init__(self, left: Ints, right: Ints, n: int) -> None:
        others = left != right
        i, j = pairs_of(distinct(keys(left[others], right[others], n)), n)
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        graph = coo_array((np.ones(2 * len(i), dtype=np.bool_), both), shape=(n, n)).tocsr()
        graph.sort_indices()
        self.starts, self.neighbours, self.n = graph.indptr, graph.indices, n

    def between(self, source: int, targets: Sequence[int]) -> list[list[int]]:
        """The items of a shortest chain from the source to each target; there must be one."""
        whole = self.n + len(self.neighbours)
        if len(targets) * SEARCH * STEP < whole:
            chains = []
            for target in targets:
                chain = self._meet(source, target, whole // STEP)
                if chain is None:
                    break
                chains.append(chain)
            else:
                return chains
        _, before = breadth_first_order(self._graph, source, return_predecessors=True)
        return [_back(target, source, before) for target in targets]

    def _meet(self, source: int, target: int, most: int) -> list[int] | None:
        """Search from both ends, each time a level further where there is less to do, until they meet.

        None after more than `most` steps.
        """
        before: list[dict[int, int]] = [{source: source}, {target: target}]
        front: list[list[int]] = [[source], [target]]
        met = source if source == target else None
        while met is None:
            side = int(self._degree(front[0]) > self._degree(front[1]))
            front[side] = self._next_level(front[side], before[side])
            # The first meeting is on a shortest chain: with a shorter one they would have met at an earlier level.
            met = next((item for item in front[side] if item in before[1 - side]), None)
            if len(before[0]) + len(before[1]) > most:
                return None
        return _back(met, source, before[0]) + _back(met, target, before[1])[-2::-1]

    def _next_level(self, front: list[int], before: dict[int, int]) -> list[int]:
        reached = []
        for item in front:
            for neighbour in self.neighbours[self.starts[item] : self.starts[item + 1]].tolist():
                if neighbour not in before:
                    before[neighbour] = item
                    reached.append(neighbour)
        assert reached, "there is no chain"
        return reached

    def _degree(self, items: list[int]) -> int:
        return int((self.starts[np.array(items) + 1] - self.starts[items]).sum())

    @cached_property
    def _graph(self) -> csr_array:
        entries = (np.ones(len(self.neighbours)), self.neighbours, self.starts)  # float64, or scipy copies every time
        return csr_array(entries, shape=(self.n, self.n))


def _back(item: int, source: int, before: dict[int, int] | NDArray[np.int32]) -> list[int]:
    """The chain from the source to an item."""
    chain = [item]
    while chain[-1] != source:
        chain.append(int(before[chain[-1]]))
    return chain[::-1]
