"""The posterior over the classes of items, where something is known of each: the outputs of a classifier.

Beside its K classes an item may be outside all of them, the same as no other. Components of up to eight items with a
loop are enumerated. All others have belief propagation, from the unary terms u and the couplings between items:

    cavity of i without j    c_ij(k) ~ u_i(k) * product of m_hi(k) over the other neighbours h      (sums to 1)
    message                  m_ij(k) = 1 + (exp(log_odds_ij) - 1) c_ij(k)      1 for an item outside all classes
    same                     P_ij    = s exp(log_odds_ij) / (1 + (exp(log_odds_ij) - 1) s),   s = sum of c_ij c_ji

It is exact on trees, and near to it where loops are long or the unary terms strong. Mean field is the fallback where
messages do not converge: it counts an item's own echo from its neighbours as evidence, and is far too sure for that.
A sweep is O(couplings x K).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax, logit, softmax

from likewise.pairs.enumeration import Couplings, labellings

AnyFloats = NDArray[np.floating]
Ints = NDArray[np.int64]

STRONGEST = 40.0  # log-odds: what is stronger is certain
BLOCK = 2**18  # messages at once
UNDAMPED, SWEEPS = 20, 200  # sweeps without damping, and all together
DAMPING = 0.5
CHANGE = 1e-6  # of any message, at which they have converged; in float32 ROUNDED
ROUNDED = 1e-4
MEAN_FIELD_SWEEPS = 100


class Beliefs(NamedTuple):
    """What belief propagation says: the classes of items, P(same) of couplings, and the messages to continue from."""

    classes: NDArray[np.float64]  # (n, K + 1)
    same: NDArray[np.float64]  # (E,)
    messages: AnyFloats  # (2E, K) logarithms, those to one item side by side
    converged: bool


class Wiring:
    """Couplings (i, j) of n items as messages both ways, ordered by the item they go to."""

    def __init__(self, i: Ints, j: Ints, n: int) -> None:
        source, target = np.concatenate([i, j]), np.concatenate([j, i])
        order = np.argsort(target, kind="stable")
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.n, self.n_edges = n, len(i)
        self.edge = order % max(len(i), 1)
        self.source, self.target = source[order], target[order]
        self.back = np.concatenate([place[len(i) :], place[: len(i)]])[order]  # the message the other way
        self.forward = place[: len(i)]  # from i to j, of each coupling
        self.reached, self.starts = np.unique(self.target, return_index=True)


def propagate(
    wiring: Wiring,
    log_odds: NDArray[np.float64],
    unary: AnyFloats,
    messages: AnyFloats | None = None,
    enough: float = 0.0,
) -> Beliefs:
    """Beliefs for log-odds (E,) and unary log-probabilities (n, K + 1), whose last column is outside all classes.

    `messages` are those to begin with; a change below `enough` ends the sweeps.
    """
    enough = max(enough, CHANGE if unary.dtype == np.float64 else ROUNDED)
    n_classes = unary.shape[1] - 1
    gain = np.expm1(log_odds.clip(-STRONGEST, STRONGEST)).astype(unary.dtype)[wiring.edge]
    if messages is None:
        messages = np.zeros((2 * wiring.n_edges, n_classes), dtype=unary.dtype)
    converged = wiring.n_edges == 0
    for sweep in range(SWEEPS):
        if converged:
            break
        total, new, change = _totals(wiring, unary, messages), np.empty_like(messages), 0.0
        for rows in _blocks(len(messages)):
            cavity = _cavity(wiring, total, messages, rows)[:, :-1]
            fresh = np.log1p(gain[rows, None] * cavity)
            if sweep >= UNDAMPED:
                fresh += DAMPING * (messages[rows] - fresh)
            change = max(change, float(np.abs(fresh - messages[rows]).max(initial=0)))
            new[rows] = fresh
        messages, converged = new, change < enough

    total = _totals(wiring, unary, messages)
    classes = softmax(total.astype(np.float64), axis=1)
    if not converged:
        classes = _mean_field(wiring, log_odds, unary.astype(np.float64), classes)
    same = np.empty(wiring.n_edges)
    for rows in _blocks(wiring.n_edges):
        forward = wiring.forward[rows]
        if converged:
            source, target = (_cavity(wiring, total, messages, at) for at in (forward, wiring.back[forward]))
        else:
            source, target = classes[wiring.source[forward]], classes[wiring.target[forward]]
        meet = np.einsum("ek,ek->e", source[:, :-1], target[:, :-1], dtype=np.float64)
        odds = np.exp(log_odds[rows].clip(-STRONGEST, STRONGEST)) if converged else np.ones(len(meet))
        same[rows] = meet * odds / (1 + (odds - 1) * meet)
    return Beliefs(classes, same.clip(0, 1), messages, converged)


def _totals(wiring: Wiring, unary: AnyFloats, messages: AnyFloats) -> AnyFloats:
    """(n, K + 1) The logarithm of each item's belief, up to a constant."""
    total = unary.copy()
    if wiring.n_edges:
        total[wiring.reached, :-1] += np.add.reduceat(messages, wiring.starts, axis=0)
    return total


def _cavity(wiring: Wiring, total: AnyFloats, messages: AnyFloats, rows: Ints | slice) -> AnyFloats:
    """(rows, K + 1) What the source of each message believes without the target."""
    cavity: AnyFloats = total[wiring.source[rows]]
    cavity[:, :-1] -= messages[wiring.back[rows]]
    cavity -= cavity.max(axis=1, keepdims=True)
    np.exp(cavity, out=cavity)
    cavity /= cavity.sum(axis=1, keepdims=True)
    return cavity


def _mean_field(
    wiring: Wiring, log_odds: NDArray[np.float64], unary: NDArray[np.float64], classes: NDArray[np.float64]
) -> NDArray[np.float64]:
    shape = (wiring.n, wiring.n)
    coupling = csr_array((log_odds.clip(-STRONGEST, STRONGEST)[wiring.edge], (wiring.target, wiring.source)), shape)
    for _ in range(MEAN_FIELD_SWEEPS):
        field = unary.copy()
        field[:, :-1] += coupling @ classes[:, :-1]
        new = DAMPING * classes + (1 - DAMPING) * softmax(field, axis=1)
        change, classes = float(np.abs(new - classes).max(initial=0)), new
        if change < CHANGE:
            break
    return classes


def _blocks(n: int) -> list[slice]:
    return [slice(start, min(start + BLOCK, n)) for start in range(0, n, BLOCK)]


Floats = NDArray[np.float64]

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
        self.converged = self.deterministic = True
        self.log_odds = np.zeros(len(couplings.i))
        self.same = np.zeros(len(couplings.i))
        self.classes = np.exp(self.unary)

    def update(self, log_odds: Floats, last: bool = False) -> Floats:
        """(E,) P(same) of each coupling."""
        precision = np.float64 if len(self.propagated) * self.n_classes <= HALF_PRECISION else np.float32
        unary: NDArray[np.floating] = self.unary.astype(precision)
        enough = 0.0 if last else ROUGHLY
        beliefs = propagate(self.wiring, log_odds[self.propagated], unary, self.messages, enough)
        self.messages, self.converged, self.classes = beliefs.messages, beliefs.converged, beliefs.classes
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

    exact = converged = deterministic = True

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
