"""What answers imply: same is transitive, and two groups of which one pair is different are different throughout.

    a=b, b=c  implies  a=c          the components of the graph of "same" answers
    a=b, b!=d implies  a!=d         the pairs of components with a "different" answer between them

The components and these pairs of them are all that is kept: a list of the implied pairs would grow with n^2. The pairs
may be in a file that is mapped: of them only what is asked about is looked at (see `large.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.pairs.pair_keys import distinct, pair_keys, pairs_of

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

BLOCK = 2**20  # pairs of components that are looked at together

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Closure:
    """The components of n items, and which of them are different.

    Where answers contradict one another, the chain of "same" answers has the last word; `n_contradicted` counts the
    "different" answers it overrules, and `Pairs.repair` removes the cause.

    >>> from likewise.pairs import Pairs
    >>> closure = Pairs.from_arrays([(0, 1), (1, 2), (2, 3)], [1, 1, 0]).closure()
    >>> closure.n_components, closure.target([0, 2, 3])  # 0 = 1 = 2, and so 0 = 2 and 0 != 3
    (2, array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]], dtype=float32))
    """

    component: Ints  # (n,) numbered in the order of their first items
    n_components: int
    different_keys: Ints  # (m,) the pairs of components that are different, by their keys, sorted
    n_contradicted: int
    answered_same: int  # pairs of items, each counted once
    answered_different: int  # likewise, without the contradicted

    @property
    def different(self) -> Ints:
        """(m, 2) The pairs of components that are different, the smaller first, sorted."""
        return np.stack(pairs_of(self.different_keys, self.n_components), axis=1)

    @cached_property
    def sizes(self) -> Ints:
        return np.bincount(self.component, minlength=self.n_components)

    @property
    def known_same(self) -> int:
        """The number of pairs of items known to be the same, answered or implied."""
        return int((self.sizes * (self.sizes - 1) // 2).sum())

    @property
    def known_different(self) -> int:
        """The number of pairs of items known to be different, answered or implied."""
        total = 0
        for start in range(0, len(self.different_keys), BLOCK):
            i, j = pairs_of(self.different_keys[start : start + BLOCK], self.n_components)
            total += int((self.sizes[i] * self.sizes[j]).sum())
        return total

    @property
    def complete(self) -> bool:
        """Whether every pair of the items that answers name is known to be the same or different."""
        spoken_of = self.sizes > 1
        for start in range(0, len(self.different_keys), BLOCK):
            i, j = pairs_of(self.different_keys[start : start + BLOCK], self.n_components)
            spoken_of[i] = spoken_of[j] = True
        n = int(spoken_of.sum())
        return len(self.different_keys) == n * (n - 1) // 2

    @property
    def implied_same(self) -> int:
        """The number of pairs that were not answered and must be the same."""
        return self.known_same - self.answered_same

    @property
    def implied_different(self) -> int:
        """The number of pairs that were not answered and must be different."""
        return self.known_different - self.answered_different

    def target(self, index: ArrayLike) -> NDArray[np.float32]:
        """The (b, b) target of a batch of b items: 1 same, 0 different, NaN unknown; 1 on the diagonal."""
        place, different = self.among(index)
        target = np.where(different, np.float32(0), np.float32(np.nan))
        np.fill_diagonal(target, 1)
        return target[place[:, None], place]  # (b, b)

    def among(self, index: ArrayLike) -> tuple[Ints, NDArray[np.bool_]]:
        """What is known of a batch of b items: the place of each among its u components, (b,), and which of these are
        different, (u, u).
        """
        present, place = np.unique(self.component[np.asarray(index, dtype=np.int64)], return_inverse=True)
        return place, self._different_among(present)

    def answers_about(self, i: ArrayLike, j: ArrayLike) -> NDArray[np.float32]:
        """What is known of the pairs (i, j), one by one: 1 same, 0 different, NaN unknown."""
        i, j = np.broadcast_arrays(np.atleast_1d(i), np.atleast_1d(j))
        a, b = self.component[i], self.component[j]
        unknown = np.where(self._are_different(a, b), np.float32(0), np.float32(np.nan))
        return np.where(a == b, np.float32(1), unknown)

    def _different_among(self, present: Ints) -> NDArray[np.bool_]:
        """(u, u) Which of u components, sorted, are different.

        A component with few differences has them all looked through; one with many is asked about each of the others.
        """
        u = len(present)
        known = np.zeros((u, u), dtype=np.bool_)
        starts, counts = self._starts[present], self._starts[present + 1] - self._starts[present]
        few = np.flatnonzero(counts <= u)
        row, counts = np.repeat(few, counts[few]), counts[few]
        offset = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        other = self.different_keys[starts[row] + offset] % self.n_components
        column = np.searchsorted(present, other)
        hit = np.append(present, -1)[column] == other
        row, column = row[hit], column[hit]
        known[row, column] = known[column, row] = True
        many = np.setdiff1d(np.arange(u), few)
        known[many] = self._are_different(present[many, None], present)
        known[:, many] = known[many].T
        return known

    def _are_different(self, a: Ints, b: Ints) -> NDArray[np.bool_]:
        """Of components, one by one."""
        wanted, keys = pair_keys(a, b, self.n_components), self.different_keys
        if not len(keys):
            return np.zeros(wanted.shape, dtype=np.bool_)
        place = np.searchsorted(keys, wanted).clip(max=len(keys) - 1)
        return np.asarray(keys[place] == wanted)

    @cached_property
    def _starts(self) -> Ints:
        """Where the differences of each component begin."""
        return np.searchsorted(self.different_keys, self.n_components * np.arange(self.n_components + 1))


def close(pairs: Pairs) -> Closure:
    """The closure of answers, in time and memory that grow with their number and not with n^2."""
    said_same, said_different = same_and_different(pairs)
    left, right = pairs.left[said_same], pairs.right[said_same]
    others = left != right
    answered_same = distinct(pair_keys(left[others], right[others], pairs.n_items))
    component, n_components = components(*pairs_of(answered_same, pairs.n_items), pairs.n_items)

    left, right = pairs.left[said_different], pairs.right[said_different]
    between = component[left] != component[right]
    left, right = left[between], right[between]
    answered_different = distinct(pair_keys(left, right, pairs.n_items))
    different = distinct(pair_keys(component[left], component[right], n_components))
    return Closure(
        component=component,
        n_components=n_components,
        different_keys=different,
        n_contradicted=int((~between).sum()),
        answered_same=len(answered_same),
        answered_different=len(answered_different),
    )


def same_and_different(pairs: Pairs) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which answers say same and which say different: 0.5 says neither, and weight 0 nothing."""
    counted = pairs.weight > 0
    return counted & (pairs.same > 0.5), counted & (pairs.same < 0.5)


def components(left: Ints, right: Ints, n: int) -> tuple[Ints, int]:
    """The component of each of n items in the graph of these edges."""
    graph = coo_array((np.ones(len(left)), (left, right)), shape=(n, n))
    n_components, component = connected_components(graph, directed=False)
    return component.astype(np.int64), int(n_components)
