"""Several annotators: how far they agree, and where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from likewise.errors import InputError
from likewise.pairs.keys import keys

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """For each two annotators; NaN where they share no pair, and kappa also where chance would always agree.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> from likewise.pairs import agreement
    >>> agreement(pairs).shared[0, 1]  # pairs that both answered
    np.int64(2)
    """

    annotators: tuple[str, ...]
    shared: Ints  # (A, A) pairs that both answered
    rate: Floats  # (A, A) share of these with the same answer
    kappa: Floats  # (A, A) Cohen's: the part of the way from chance to full agreement

    def with_others(self) -> Floats:
        """(A,) The kappa of each annotator with the others, each counted by the pairs that they share."""
        shared = np.where(np.isnan(self.kappa) | np.eye(len(self.kappa), dtype=np.bool_), 0, self.shared)
        total = shared.sum(axis=1)
        return np.asarray((np.nan_to_num(self.kappa) * shared).sum(axis=1) / np.where(total > 0, total, np.nan))


def agreement(pairs: Pairs) -> Agreement:
    """How far each two annotators agree; one who answered a pair more than once counts with the mean.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> float(agreement(Pairs.from_frame(answers)).rate[0, 1])
    0.5
    """
    pairs = counted(pairs)
    annotator, place, first = answered(pairs)
    n, shape = len(pairs.annotators), (len(pairs.annotators), len(first))
    who, inverse = np.unique(place * n + annotator, return_inverse=True)
    mean = np.bincount(inverse, pairs.same) / np.bincount(inverse)
    at = (who % n, who // n)
    same, different = (coo_array((said.astype(np.int64), at), shape).tocsr() for said in (mean > 0.5, mean < 0.5))
    either = same + different
    shared = (either @ either.T).toarray()  # (A, A)
    says_same = (same @ either.T).toarray()  # [a, b]: how often a says so of pairs that b answered too
    with np.errstate(invalid="ignore"):  # nothing shared
        rate = (same @ same.T + different @ different.T).toarray() / shared
        share, other = says_same / shared, says_same.T / shared
        chance = share * other + (1 - share) * (1 - other)
        kappa = (rate - chance) / np.where(chance < 1, 1 - chance, np.nan)
    return Agreement(pairs.annotators, shared, rate, kappa)


def disagreements(pairs: Pairs) -> Pairs:
    """The answers about pairs that some call the same and others different, those about one pair side by side.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> disagreements(pairs).annotator
    array([0, 1], dtype=int32)
    """
    pairs = counted(pairs)
    _, place, first = answered(pairs)
    says_same = np.bincount(place[pairs.same > 0.5], minlength=len(first)) > 0
    says_different = np.bincount(place[pairs.same < 0.5], minlength=len(first)) > 0
    rows = np.flatnonzero((says_same & says_different)[place])
    return pairs.select(rows[np.lexsort((rows, first[place[rows]]))])


def counted(pairs: Pairs) -> Pairs:
    """The answers of weight above 0; the others count as not given."""
    return pairs if (pairs.weight > 0).all() else pairs.select(pairs.weight > 0)


def answered(pairs: Pairs) -> tuple[NDArray[np.int32], Ints, Ints]:
    """The annotator of each row, the pair it is about, and the first row of each such pair."""
    if not len(pairs):
        raise InputError("There are no answers, or all have weight 0 and count as not given; give some.")
    if pairs.annotator is None:
        raise InputError("These answers do not say who gave them; add a column annotator.")
    _, first, place = np.unique(keys(pairs.left, pairs.right, pairs.n_items), return_index=True, return_inverse=True)
    return pairs.annotator, place, first
