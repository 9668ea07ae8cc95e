"""The posterior over the classes of items, where something is known of each: the outputs of a classifier.

Beside its K classes an item may be outside all of them, the same as no other. Components of up to eight items with a
loop are enumerated, all others have belief propagation, which is exact on trees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, logit

from likewise.pairs.enumeration import Couplings, labellings
from likewise.pairs.propagation import Wiring, propagate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST = -700.0  # logarithm of what counts as impossible
NEVER = 1e-12  # how near to 0 and 1 a probability may come where its odds are taken
WORK = 300_000_000  # terms of an enumeration; where it would take more, belief propagation does
HALF_PRECISION = 2_000_000  # couplings times classes, above which messages are float32
ROUGHLY = 1e-3  # change of messages that is small enough until the rates are known


class Memberships:
    """P(same) of couplings and of any other pairs, and the classes of items."""

    def __init__(self, couplings: Couplings, unary: Floats, outside: float) -> None:
        self.couplings = couplings
        self.unary = _with_outside(unary, outside)  # (n, K + 1)
        self.n_classes = unary.shape[1]
        self.loops = couplings.batches(couplings.small & ~couplings.tree)
        work = sum(len(batch.items) * 3 * self.n_classes * 3 ** batch.items.shape[1] for batch in self.loops)
        self.loops = self.loops if work <= WORK else []
        enumerated = np.zeros(couplings.n_components, dtype=np.bool_)
        for batch in self.loops:
            enumerated[couplings.component[batch.items[:, 0]]] = True
        self.propagated = couplings.edges_in(~enumerated)
        self.wiring = Wiring(couplings.i[self.propagated], couplings.j[self.propagated], couplings.n)
        self.messages: NDArray[np.floating] | None = None
        self.exact = bool((couplings.tree | enumerated).all())
        self.settled = self.deterministic = True
        self.log_odds = np.zeros(len(couplings.i))
        self.same = np.zeros(len(couplings.i))
        self.classes = np.exp(self.unary)

    def update(self, log_odds: Floats, last: bool = False) -> Floats:
        """(E,) P(same) of each coupling."""
        precision = np.float64 if len(self.propagated) * self.n_classes <= HALF_PRECISION else np.float32
        unary: NDArray[np.floating] = self.unary.astype(precision)
        enough = 0.0 if last else ROUGHLY
        beliefs = propagate(self.wiring, log_odds[self.propagated], unary, self.messages, enough)
        self.messages, self.settled, self.classes = beliefs.messages, beliefs.settled, beliefs.classes
        self.log_odds = log_odds
        self.same = np.empty(len(log_odds))
        self.same[self.propagated] = beliefs.same
        for batch in self.loops:
            same, classes = labellings(batch.log_odds(log_odds), self.unary[batch.items])
            self.same[batch.edges] = same[batch.row, batch.pair]
            self.classes[batch.items] = classes
        return self.same

    def between(self, i: Ints, j: Ints) -> Floats:
        """P(same) of pairs that nothing couples directly."""
        couplings = self.couplings
        same: Floats = np.einsum("pk,pk->p", self.classes[i, :-1], self.classes[j, :-1])
        a, b = couplings.component[i], couplings.component[j]
        together = (a == b) & couplings.small[a] & (i != j)
        which = np.zeros(couplings.n_components, dtype=np.bool_)
        which[a[together]] = True
        for batch in couplings.batches(which):
            table, _ = labellings(batch.log_odds(self.log_odds), self.unary[batch.items])
            rows = np.flatnonzero(together & (couplings.size[a] == batch.items.shape[1]))
            chosen = couplings.component[batch.items[:, 0]]
            same[rows] = table[np.searchsorted(chosen, a[rows]), couplings.pair(i[rows], j[rows])]
        same[i == j] = 1.0
        return same


class PairByPair:
    """The same with each pair judged alone: by its own answers, and by the classes of its two items."""

    exact = settled = deterministic = True

    def __init__(self, couplings: Couplings, unary: Floats, outside: float) -> None:
        self.couplings, self.n_classes = couplings, unary.shape[1]
        self.classes = np.exp(_with_outside(unary, outside))
        self.before = self.between(couplings.i, couplings.j)
        self.same = self.before

    def update(self, log_odds: Floats, last: bool = False) -> Floats:
        """(E,) P(same) of each coupling."""
        self.same = np.asarray(expit(logit(self.before.clip(NEVER, 1 - NEVER)) + log_odds))
        return self.same

    def between(self, i: Ints, j: Ints) -> Floats:
        """P(same) of pairs without their answers."""
        same: Floats = np.einsum("pk,pk->p", self.classes[i, :-1], self.classes[j, :-1])
        return same


def _with_outside(unary: Floats, outside: float) -> Floats:
    """(n, K + 1) Log-probabilities, the last of which is of no class."""
    inside = log_softmax(unary, axis=1) + np.log1p(-outside)
    column = np.full((len(unary), 1), np.log(outside) if outside > 0 else LEAST)
    return np.asarray(np.maximum(np.concatenate([inside, column], axis=1), LEAST), dtype=np.float64)
