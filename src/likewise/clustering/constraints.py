"""Answers as the algorithms take them: must-links and cannot-links with weights, each pair of items once.

    s_ij = sum over the answers about (i, j) of weight * (2 same - 1)      s_ij > 0 must-link, s_ij < 0 cannot-link

A sure answer of weight 1 counts 1, a soft one less, and one of 0.5 nothing. What is said both ways about one pair is
settled by the sum; contradictions along chains (a=b, b=c, a!=c) are another matter, and a method's choice.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from likewise.errors import InputError
from likewise.pairs import Pairs, answers_about
from likewise.pairs.closure import components
from likewise.pairs.pair_keys import pair_keys, pairs_of

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

DENSE = 1 / 8  # of all pairs: from here on, answers multiply faster as a full matrix

Contradictions = Literal["accept", "refuse", "repair"]


@dataclass(frozen=True, eq=False)
class Constraints:
    """Must-links and cannot-links among n items; the smaller item of a pair comes first, and no pair comes twice.

    >>> pairs = Pairs.from_arrays([(0, 1), (1, 2), (3, 0)], [1, 0.75, 0])
    >>> constraints = read_constraints(pairs, 5)
    >>> constraints.must_link.tolist(), constraints.must_weight.tolist(), constraints.cannot_link.tolist()
    ([[0, 1], [1, 2]], [1.0, 0.5], [[0, 3]])
    >>> constraints.component.tolist()
    [0, 0, 0, 1, 2]
    >>> constraints.signed.toarray()[0].tolist()
    [0.0, 1.0, 0.0, -1.0, 0.0]
    """

    n_items: int
    must_link: Ints  # (P, 2)
    cannot_link: Ints  # (Q, 2)
    must_weight: Floats  # (P,) above 0
    cannot_weight: Floats  # (Q,) above 0

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)

    @cached_property
    def component(self) -> Ints:
        """(n,) The neighbourhood of each item: those that chains of must-links connect, in the order of their first."""
        return components(self.must_link[:, 0], self.must_link[:, 1], self.n_items)[0]

    @cached_property
    def must(self) -> csr_array:
        """(n, n) The weights of the must-links, symmetric."""
        return _symmetric(self.must_link, self.must_weight, self.n_items)

    @cached_property
    def cannot(self) -> csr_array:
        """(n, n) The weights of the cannot-links, symmetric."""
        return _symmetric(self.cannot_link, self.cannot_weight, self.n_items)

    @cached_property
    def signed(self) -> csr_array:
        """(n, n) s: above 0 for must-links, below 0 for cannot-links, 0 where nothing is known; symmetric."""
        return csr_array(self.must - self.cannot)


def read_constraints(
    pairs: Pairs | None, items: Any, contradictions: Contradictions = "accept", *, hard: bool = False
) -> Constraints:
    """The constraints among the items X, or among so many, that answers give; none where there are no answers.

    Contradicting answers are taken as they are ("accept"), refused, or repaired: the most credible consistent ones are
    used. A method that keeps every constraint (`hard`) cannot accept them.
    """
    choices = [choice for choice in get_args(Contradictions) if not (hard and choice == "accept")]
    if contradictions not in choices:
        raise InputError(f"contradictions must be one of {', '.join(choices)} here, got {contradictions!r}.")
    pairs = answers_about(Pairs.from_links([], []) if pairs is None else pairs, items)
    n_items = pairs.n_items
    if contradictions == "refuse":
        refuse_contradictions(pairs)
    elif contradictions == "repair" and pairs.closure().n_contradicted:
        pairs, dropped, _ = pairs.repair()
        warnings.warn(
            f"The answers contradict one another: {len(dropped)} of {len(pairs) + len(dropped)} are left out; "
            "`likewise check` shows why.",
            stacklevel=3,
        )

    of_two = pairs.left != pairs.right
    credit = (pairs.weight * (2 * pairs.same.astype(np.float64) - 1))[of_two]
    pair, place = np.unique(pair_keys(pairs.left[of_two], pairs.right[of_two], n_items), return_inverse=True)
    s = np.bincount(place, credit, minlength=len(pair)).astype(np.float64)
    ends = np.stack(pairs_of(pair, n_items), axis=1)  # (m, 2)
    return Constraints(n_items, ends[s > 0], ends[s < 0], s[s > 0], -s[s < 0])


def refuse_contradictions(pairs: Pairs) -> None:
    """Say where answers contradict one another, if they do."""
    if pairs.closure().n_contradicted:
        first = pairs.contradictions(limit=1)[0].text(most_links=4)
        raise InputError(
            f"The answers contradict one another: {first}. Correct them, or let contradictions be repaired, which "
            "leaves out the least credible answers."
        )


def as_it_multiplies(matrix: csr_array) -> csr_array | Floats:
    """A square matrix in full where it has so many entries that this is faster, else as it is."""
    return np.asarray(matrix.toarray()) if matrix.nnz > DENSE * matrix.shape[0] ** 2 else matrix


def _symmetric(ends: Ints, weight: Floats, n: int) -> csr_array:
    i, j = ends.T
    both = (np.concatenate([i, j]), np.concatenate([j, i]))
    return coo_array((np.concatenate([weight, weight]), both), shape=(n, n)).tocsr()
