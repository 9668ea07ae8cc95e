"""What there is to ask, and what each question is worth: how many items it is expected to put right.

    join     two clusters that may be one class          P(one class) times the size of the smaller
    split    a join that was made and may be wrong       P(two classes) times the size of the smaller side
    verify   one item, or an atom by its middle          sum over the items of how likely they are wrong

A question about groups is asked about items in their middle, one about an item against the nearest confirmed member of
its likeliest class. A pair is never asked twice: a doubt is asked through another member.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise.clustering.constraints import Ints
from likewise.querying.beliefs import Beliefs
from likewise.querying.view import CENTRAL

LISTED = 20  # questions of each kind, at most
TRIED = 6  # items of each side that a question may be about
UNLIKELY = 0.03  # an item is not compared with a class that it is in with less than this probability
CONFIRMED, MIDDLE = 1.0, 0.5  # how much nearer an item counts that was confirmed, or is in the middle of its atom

WHY = {
    "join": "These two groups may be one class.",
    "split": "These two items are in one group, which may be two classes.",
    "verify": "It is not clear which class the first item belongs to.",
    "audit": "A random check of how good the classes are.",
    "new": "Nothing else is left to ask.",
}

Asked = Container[tuple[int, int]]


class Settled(NamedTuple):
    """Items whose groups people have marked as pure, or as finished."""

    pure: frozenset[int] = frozenset()
    finished: frozenset[int] = frozenset()

    def clusters(self, beliefs: Beliefs, kind: Literal["verify", "join"]) -> NDArray[np.bool_]:
        """(K + 1,) The clusters that are not asked about: a pure one may still be joined, a finished one may not."""
        left_alone = np.zeros(beliefs.posterior.shape[1], dtype=np.bool_)
        items = self.finished if kind == "join" else self.pure | self.finished
        if items:
            left_alone[beliefs.posterior[sorted(items), :-1].argmax(axis=1)] = True
        return left_alone


NOTHING_SETTLED = Settled()


class Question(NamedTuple):
    left: int
    right: int
    kind: str


class Candidate(NamedTuple):
    value: float
    kind: str
    place: tuple[int, int]  # two nodes of the tree of joins, or an item twice


def candidates(beliefs: Beliefs, settled: Settled = NOTHING_SETTLED) -> list[Candidate]:
    """The most valuable questions of each kind, the best first."""
    parts, view = beliefs.parts, beliefs.view
    one, other = np.triu_indices(parts.n_clusters, 1)
    joins = beliefs.joins[one, other] * np.minimum(parts.sizes[one], parts.sizes[other])
    splits = expit(-parts.odds) * parts.small
    singles = beliefs.doubt.copy()
    if settled != NOTHING_SETTLED:
        pure, finished = (settled.clusters(beliefs, kind) for kind in ("verify", "join"))
        joins[finished[one] | finished[other]] = 0
        splits[pure[parts.cluster_of(parts.left)]] = 0
        singles[pure[beliefs.posterior.argmax(axis=1)]] = 0
    whole = np.bincount(view.atom, singles * ~beliefs.asked, minlength=view.n_atoms)
    middle = unasked_middles(beliefs)
    singles[middle] = whole[view.atom[middle]]
    every = np.arange(len(singles))
    table = (
        ("join", joins, parts.root[one], parts.root[other]),
        ("split", splits, parts.left, parts.right),
        ("verify", singles, every, every),
    )
    listed = []
    for kind, values, left, right in table:
        best = np.argpartition(-values, LISTED)[:LISTED] if len(values) > LISTED else np.arange(len(values))
        best = best[values[best] > 0]
        listed += [Candidate(float(values[each]), kind, (int(left[each]), int(right[each]))) for each in best]
    return sorted(listed, key=lambda each: (-each.value, each.kind, each.place))


def unasked_middles(beliefs: Beliefs) -> Ints:
    """The most central item of each atom that was not asked about, where one stands for the atom."""
    rank = np.where(beliefs.asked, CENTRAL, beliefs.view.rank)
    some = np.flatnonzero(rank < CENTRAL)
    some = some[np.argsort(rank[some], kind="stable")]
    return np.asarray(some[np.unique(beliefs.view.atom[some], return_index=True)[1]])


def ask(beliefs: Beliefs, candidate: Candidate, asked: Asked) -> Question | None:
    """The pair to ask about; None where all that would say something were asked."""
    if candidate.kind == "verify":
        item = candidate.place[0]
        for cluster in np.argsort(-beliefs.posterior[item, :-1], kind="stable")[:2]:
            if beliefs.posterior[item, cluster] < UNLIKELY:
                break
            some = members(beliefs, int(cluster), item, of_atom=beliefs.view.rank[item] == 0)
            if pair := unasked([item], some, asked):
                return Question(*pair, "verify")
        return None
    sides = [beliefs.parts.atoms_of(node) for node in candidate.place]
    seen, first = seen_against(beliefs, *sides), candidate.kind == "join"
    left, right = (middle_items(beliefs, atoms, seen, atoms_first=first) for atoms in sides)
    pair = unasked(left, right, asked)
    return Question(*pair, candidate.kind) if pair else None


def seen_against(beliefs: Beliefs, one: Ints, other: Ints) -> Ints:
    """The items of answers between two groups of atoms: a second look is about others, as any may be an exception."""
    inside = np.zeros((2, beliefs.view.n_atoms), dtype=np.bool_)
    inside[0, one], inside[1, other] = True, True
    a, b = beliefs.view.atom[beliefs.ends].T
    return np.asarray(beliefs.ends[(inside[0, a] & inside[1, b]) | (inside[1, a] & inside[0, b])].ravel())


def middle_items(beliefs: Beliefs, atoms: Ints, seen: Ints | None = None, *, atoms_first: bool = True) -> list[int]:
    """Items that stand for some atoms: not seen so often, and nearest to the mean of all first.

    Before that the middle ones of their atoms, unless a group may come apart: then typical ones of it are asked about,
    because exceptions on both sides differ in any case.
    """
    view = beliefs.view
    inside = np.zeros(view.n_atoms, dtype=np.bool_)
    inside[atoms] = True
    items = np.flatnonzero(inside[view.atom] & (view.rank < CENTRAL))
    near = view.places[items] @ view.sums[atoms].sum(axis=0)
    rank = view.rank[items] if atoms_first else np.zeros(len(items))
    times = np.zeros(len(items)) if seen is None else np.bincount(seen, minlength=len(view.atom))[items]
    return [int(each) for each in items[np.lexsort((-near, rank, times))[:TRIED]]]


def members(beliefs: Beliefs, cluster: int, item: int, *, of_atom: bool = False) -> list[int]:
    """Members of a cluster, those near the item and confirmed by an answer first.

    Where the item stands for its atom, so do they for others: an answer within one atom says nothing of it.
    """
    view = beliefs.view
    inside = np.flatnonzero(beliefs.posterior.argmax(axis=1) == cluster)
    if of_atom:
        inside = inside[(view.rank[inside] < CENTRAL) & (view.atom[inside] != view.atom[item])]
    inside = inside[inside != item]
    confirmed = np.zeros(len(view.atom), dtype=np.bool_)
    confirmed[beliefs.ends[beliefs.same].ravel()] = True
    near = view.places[inside] @ view.places[item]
    near += CONFIRMED * confirmed[inside] + MIDDLE * (view.rank[inside] == 0)
    return [int(each) for each in inside[np.argsort(-near, kind="stable")[:TRIED]]]


def unasked(left: list[int], right: list[int], asked: Asked) -> tuple[int, int] | None:
    """The first pair of both lists that was not asked about, by how far down they are together."""
    for _, a, b in sorted((a + b, left[a], right[b]) for a in range(len(left)) for b in range(len(right))):
        if a != b and pair_of(a, b) not in asked:
            return a, b
    return None


def any_pair(items: Ints, asked: Asked, random: np.random.Generator) -> Iterator[Question]:
    """Pairs of some items that were not asked about, in random order."""
    for i in random.permutation(items):
        for j in random.permutation(items):
            if i != j and pair_of(int(i), int(j)) not in asked:
                yield Question(int(i), int(j), "new")


def pair_of(i: int, j: int) -> tuple[int, int]:
    """The pair as it is known: the smaller number first."""
    return min(i, j), max(i, j)
