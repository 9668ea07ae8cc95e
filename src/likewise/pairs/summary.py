"""What there is to know about answers before anything is learnt from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.annotators import Agreement, Reliability, agreement, counted, disagreements, reliability
from likewise.pairs.closure import Closure, same_and_different
from likewise.pairs.contradictions import Contradiction
from likewise.pairs.pair_keys import distinct, is_sparse, pair_keys

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


@dataclass(frozen=True, eq=False)
class Summary:
    """The counts of answers, what they imply, where they contradict one another, and who gave them.

    >>> from likewise.pairs import Pairs
    >>> summary = summarise(Pairs.from_arrays([(0, 1), (1, 2), (2, 3)], [1, 1, 0]))
    >>> summary.answers, summary.items, summary.same, summary.different
    (3, 4, 2, 1)
    """

    answers: int
    items: int
    same: int
    different: int
    undecided: int  # 0.5
    soft: int  # neither 0 nor 1
    repeated: int  # that say again what an earlier one says
    self_pairs: int
    closure: Closure  # of the items that answers are about, where these are few of very many
    contradictions: list[Contradiction]  # the first ones
    disputed: int  # pairs that annotators answered both ways
    agreement: Agreement | None  # with two annotators or more
    reliability: Reliability | None
    not_given: int  # answers of weight 0, which count nowhere else


def summarise(pairs: Pairs, limit: int | None = 20) -> Summary:
    """The summary of answers, with the proofs of the first `limit` contradictions.

    >>> from likewise.pairs import Pairs
    >>> print(*summarise(Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "c")], [1, 1, 0])).contradictions)
    a=b, b=c, but a!=c; rows 0, 1, 2
    """
    if is_sparse(pairs.n_items, len(pairs)):
        pairs = pairs.compact()
    n_answers = len(pairs)
    pairs = counted(pairs)
    same, different = (int(side.sum()) for side in same_and_different(pairs))
    several = len(pairs.annotators) > 1 and len(pairs) > 0
    return Summary(
        answers=len(pairs),
        items=len(pairs.items),
        same=same,
        different=different,
        undecided=len(pairs) - same - different,
        soft=int(((pairs.same > 0) & (pairs.same < 1)).sum()),
        repeated=int(repeated(pairs).sum()),
        self_pairs=int((pairs.left == pairs.right).sum()),
        closure=pairs.closure(),
        contradictions=pairs.contradictions(limit),
        disputed=_n_pairs(disagreements(pairs)) if several else 0,
        agreement=agreement(pairs) if several else None,
        reliability=reliability(pairs) if several else None,
        not_given=n_answers - len(pairs),
    )


def repeated(pairs: Pairs) -> NDArray[np.bool_]:
    """(m,) Which answers say again what an earlier one says: the same of the same pair, by the same annotator."""
    pair = pair_keys(pairs.left, pairs.right, pairs.n_items)
    ordered = np.sort(pair)
    twice = distinct(ordered[1:][ordered[1:] == ordered[:-1]])  # pairs with more than one answer
    rows = np.flatnonzero(np.append(twice, -1)[np.searchsorted(twice, pair)] == pair)
    who = np.zeros(len(pairs), dtype=np.int32) if pairs.annotator is None else pairs.annotator
    rows = rows[np.lexsort((rows, who[rows], pairs.same[rows], pair[rows]))]
    before, after = rows[:-1], rows[1:]
    equal = (pair[before] == pair[after]) & (pairs.same[before] == pairs.same[after]) & (who[before] == who[after])
    again = np.zeros(len(pairs), dtype=np.bool_)
    again[after[equal]] = True
    return again


def _n_pairs(pairs: Pairs) -> int:
    return len(distinct(pair_keys(pairs.left, pairs.right, pairs.n_items)))
