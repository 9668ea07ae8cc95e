"""The pair worth asking next: the one whose answer puts most items right.

Begin from the best partition without answers. A merge of groups p, q that is right with probability P, made or not made,
is worth asking about as far as it may be wrong, times the items that would move:

    value = min(P, 1 - P) min(|p|, |q|)          a single item: 1 - max_k q_ik

One question in ten is a random audit: a random item and its class. All that is known follows from the seed, the items
and the answers, so that a log of answers replayed gives the same state.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, logsumexp

from likewise.clustering.constraints import Floats, Ints
from likewise.errors import InputError
from likewise.evaluation.intervals import wilson
from likewise.querying.membership import membership
from likewise.querying.calibration import GUESS, calibrate
from likewise.querying.partition import Partition, partition
from likewise.querying.spaces import read_items, spaces
from likewise.querying.view import CENTRAL, View, see

AUDIT = 10  # one question in so many is random
WRONG = 0.05  # the share of wrong answers, before any is known
LEAST_WRONG = 0.005
UNSURE = 20  # answers that this guess counts as
OTHERS = 0.25  # how much an answer about an item that does not stand for its atom says of the atom
TRIED = 6  # items of each side that a question may be about


class Answer(NamedTuple):
    left: int
    right: int
    same: bool | None
    annotator: str | None
    audit: bool


class Question(NamedTuple):
    left: int
    right: int
    kind: str
    why: str


class QuestionChooser:
    """Chooses the pairs worth asking about, and keeps the classes that follow from the answers.

    Parameters
    ----------
    X : features (n, d) or images (n, H, W), (n, C, H, W).
    n_classes : the number of classes, where it is known.
    seed : of the random choices; the same seed and answers give the same questions.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=4, random_state=0, cluster_std=0.5)
    >>> chooser = QuestionChooser(X)
    >>> for _ in range(20):
    ...     i, j = chooser.next()
    ...     chooser.tell(i, j, y[i] == y[j])
    >>> chooser.n_classes_
    4
    """

    def __init__(self, X: ArrayLike, n_classes: int | None = None, seed: int = 0) -> None:
        items = read_items(X)
        if n_classes is not None and not 1 <= n_classes <= len(items):
            raise InputError(f"n_classes is {n_classes}; give a number from 1 to {len(items)}, or leave it out.")
        self.n_items, self.seed, self._n_classes = len(items), seed, n_classes
        self.kind, self.why = "", ""
        self._log: dict[tuple[int, int], Answer] = {}
        if self.n_items > 1:
            name, rows = next(iter(spaces(items).items()))
            self._view: View = see(name, rows, seed)

    # The answers

    @property
    def answers(self) -> int:
        """How many pairs were answered; "not sure" is none."""
        return sum(answer.same is not None for answer in self._log.values())

    def tell(self, i: int, j: int, same: bool | None, annotator: str | None = None) -> None:
        """Take an answer: True for same, False for different, None for not sure. A later one about a pair replaces it."""
        key = self._key(i, j)
        audit = self._audit_now and self._log.get(key) is None and self._is_audit(i, j)
        self._log[key] = Answer(*key, None if same is None else bool(same), annotator, audit)
        self._forget()

    def withdraw(self, i: int, j: int) -> None:
        """Forget the answer about a pair."""
        if self._log.pop(self._key(i, j), None) is None:
            raise InputError(f"There is no answer about items {i} and {j} to withdraw.")
        self._forget()

    def _key(self, i: int, j: int) -> tuple[int, int]:
        if not (0 <= i < self.n_items and 0 <= j < self.n_items):
            raise InputError(f"There is no pair of items {i} and {j}; they are numbered from 0 to {self.n_items - 1}.")
        if i == j:
            raise InputError(f"Item {i} is paired with itself; an answer is about two items.")
        return min(int(i), int(j)), max(int(i), int(j))

    def _forget(self) -> None:
        for name in ("_parts", "_posterior", "_question", "_ends", "labels_"):
            self.__dict__.pop(name, None)

    # What follows from them

    @cached_property
    def _ends(self) -> tuple[Ints, NDArray[np.bool_]]:
        """(m, 2) The pairs that were answered, and (m,) whether they are the same."""
        rows = [(a.left, a.right, a.same) for a in self._log.values() if a.same is not None]
        told = np.array(rows, dtype=np.int64).reshape(-1, 3)
        return told[:, :2], told[:, 2] > 0

    def _odds(self) -> csr_array | None:
        ends, same = self._ends
        if not len(ends):
            return None
        w = np.where(same, 1.0, -1.0) * math.log((1 - self._wrong) / self._wrong)
        both = (np.concatenate([ends[:, 0], ends[:, 1]]), np.concatenate([ends[:, 1], ends[:, 0]]))
        return coo_array((np.concatenate([w, w]), both), shape=(self.n_items, self.n_items)).tocsr()

    @cached_property
    def _parts(self) -> Partition:
        view, (ends, same) = self._view, self._ends
        self._wrong = WRONG
        first = partition(view, GUESS, self._said(WRONG))
        if not len(same):
            return first
        central = (view.rank[ends] < CENTRAL).all(axis=1)
        atoms, same = view.atom[ends][central], same[central]
        links, together = first.links_between(atoms), first.cluster[atoms[:, 0]] == first.cluster[atoms[:, 1]]
        self._wrong = max(LEAST_WRONG, (int((together != same).sum()) + WRONG * UNSURE) / (len(same) + UNSURE))
        return partition(view, calibrate(links, same, self._wrong), self._said(self._wrong))

    def _said(self, wrong: float) -> Floats:
        """(M, M) The log-odds of the answers, summed for each two atoms."""
        view, (ends, same) = self._view, self._ends
        credit = np.where(view.rank[ends] < CENTRAL, 1.0, OTHERS).prod(axis=1) * math.log((1 - wrong) / wrong)
        said = np.zeros((view.n_atoms, view.n_atoms))
        np.add.at(said, tuple(view.atom[ends].T), np.where(same, credit, -credit))
        said += said.T
        np.fill_diagonal(said, 0)
        return said

    @cached_property
    def _posterior(self) -> Floats:
        """(n, K + 1)"""
        parts = self._parts  # first, as it says how many answers are wrong
        return membership(self._view, parts, self._said(self._wrong), self._odds())

    @cached_property
    def labels_(self) -> Ints:
        """(n,) The class of each item, from 0."""
        if self.n_items == 1:
            return np.zeros(1, dtype=np.int64)
        labels = self._posterior.argmax(axis=1)
        new = np.flatnonzero(labels == self._parts.n_clusters)
        labels[new] += np.arange(len(new))
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    @property
    def n_classes_(self) -> int:
        return int(self.labels_.max()) + 1

    @property
    def proba_(self) -> Floats:
        """(n, n_classes_) How likely each item is in each class."""
        if self.n_items == 1:
            return np.ones((1, 1))
        q, labels = self._posterior, self.labels_
        winner = q.argmax(axis=1)
        proba = np.zeros((self.n_items, self.n_classes_))
        for cluster in np.unique(winner[winner < self._parts.n_clusters]):
            proba[:, labels[winner == cluster][0]] = q[:, cluster]
        alone = np.flatnonzero(winner == self._parts.n_clusters)
        proba[alone, labels[alone]] = q[alone, -1]
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    # The next question

    def next(self) -> tuple[int, int] | None:
        """The pair worth asking about; None when nothing is left to ask."""
        question = self._question
        self.kind, self.why = (question.kind, question.why) if question else ("", "")
        return (question.left, question.right) if question else None

    def peek(self, i: int, j: int, same: bool | None) -> tuple[int, int] | None:
        """The pair that would be asked after this answer."""
        return self._after(i, j, same).next()

    def _after(self, i: int, j: int, same: bool | None) -> QuestionChooser:
        other = object.__new__(QuestionChooser)
        other.__dict__.update(self.__dict__)
        other._log = dict(self._log)
        other.tell(i, j, same)
        return other

    @cached_property
    def _question(self) -> Question | None:
        if self.n_items < 2 or len(self._log) >= self.n_items * (self.n_items - 1) // 2:
            return None
        if self._audit_now and (audit := self._audit()):
            return audit
        for value, kind, place in self._candidates():
            question = self._ask(kind, place)
            if question is not None:
                return question
        return self._audit() or self._any()

    def _candidates(self) -> Iterator[tuple[float, str, tuple[int, int]]]:
        """Questions, the most valuable first."""
        parts = self._parts
        upper = np.triu_indices(parts.n_clusters, 1)
        joins = join_values(parts)[upper]
        splits = expit(-np.abs(parts.odds)) * parts.small
        singles = 1 - self._posterior.max(axis=1)
        middle = np.flatnonzero(self._view.rank == 0)
        singles[middle] = np.bincount(self._view.atom, singles)[self._view.atom[middle]]
        found = []
        for kind, values in (("join", joins), ("split", splits), ("item", singles)):
            best = np.argsort(-values, kind="stable")[:20]
            for each in best:
                place = (int(upper[0][each]), int(upper[1][each])) if kind == "join" else (int(each), 0)
                found.append((float(values[each]), kind, place))
        return iter(sorted(found, key=lambda one: -one[0]))

    def _ask(self, kind: str, place: tuple[int, int]) -> Question | None:
        parts, view = self._parts, self._view
        if kind == "item":
            item = place[0]
            order = np.argsort(-self._posterior[item, :-1], kind="stable")[:2]
            for cluster in order:
                pair = self._unasked([item], self._members(int(cluster), item, central=view.rank[item] == 0))
                if pair:
                    return Question(*pair, "verify", "It is not clear which class this item belongs to.")
            return None
        m = view.n_atoms
        nodes = (parts.root[place[0]], parts.root[place[1]]) if kind == "join" else (
            parts.left[place[0]], parts.right[place[0]])
        del m
        sides = [self._central(parts.atoms_of(int(node))) for node in nodes]
        pair = self._unasked(*sides)
        if pair is None:
            return None
        why = "These two groups look alike and may be one class." if kind == "join" else (
            "These two parts of a group may be two classes.")
        return Question(*pair, kind, why)

    def _central(self, atoms: Ints) -> list[int]:
        """Items that stand for these atoms, the most central of all first."""
        view = self._view
        centre = view.sums[atoms].sum(axis=0)
        items = np.flatnonzero(np.isin(view.atom, atoms) & (view.rank < CENTRAL))
        score = view.places[items] @ centre
        return [int(each) for each in items[np.argsort(-score, kind="stable")[:TRIED]]]

    def _members(self, cluster: int, item: int, *, central: bool = False) -> list[int]:
        """Members of a class, those confirmed by answers and near the item first."""
        view = self._view
        inside = np.flatnonzero(self._posterior.argmax(axis=1) == cluster)
        if central:  # an answer within one atom says nothing of the atom
            inside = inside[(view.rank[inside] < CENTRAL) & (view.atom[inside] != view.atom[item])]
        inside = inside[inside != item]
        confirmed = np.zeros(self.n_items, dtype=np.bool_)
        for answer in self._log.values():
            if answer.same:
                confirmed[[answer.left, answer.right]] = True
        near = view.places[inside] @ view.places[item] + confirmed[inside] + (view.rank[inside] == 0) * 0.5
        return [int(each) for each in inside[np.argsort(-near, kind="stable")[:TRIED]]]

    def _unasked(self, left: list[int], right: list[int]) -> tuple[int, int] | None:
        ranked = sorted((a + b, a, b) for a in range(len(left)) for b in range(len(right)))
        for _, a, b in ranked:
            if left[a] != right[b] and (min(left[a], right[b]), max(left[a], right[b])) not in self._log:
                return left[a], right[b]
        return None

    # Audits

    @property
    def _audit_now(self) -> bool:
        return len(self._log) % AUDIT == AUDIT - 1

    def _audit_item(self) -> int:
        return int(np.random.default_rng([self.seed, len(self._log)]).integers(self.n_items))

    def _is_audit(self, i: int, j: int) -> bool:
        return self._audit_item() in (i, j)

    def _audit(self) -> Question | None:
        item = self._audit_item()
        cluster = int(self._posterior[item, :-1].argmax())
        pair = self._unasked([item], self._members(cluster, item))
        return Question(*pair, "audit", "A random check of how good the classes are.") if pair else None

    def _any(self) -> Question | None:
        random = np.random.default_rng([self.seed, len(self._log), 1])
        for i in random.permutation(self.n_items):
            for j in random.permutation(self.n_items):
                if i != j and (min(i, j), max(i, j)) not in self._log:
                    return Question(int(i), int(j), "verify", "Nothing else is left to ask.")
        return None

    def accuracy(self) -> tuple[float, float, float]:
        """The estimated share of items whose class is right, and its interval (low, high)."""
        audits = [a for a in self._log.values() if a.audit and a.same is not None]
        hits = sum(bool(a.same) for a in audits)
        model = float(self._posterior.max(axis=1).mean()) if self.n_items > 1 else 1.0
        low, high = wilson(hits + 2 * model, len(audits) + 2)
        return (hits + 2 * model) / (len(audits) + 2), low, high

    def forecast(self, target: float = 0.95) -> tuple[int, int] | None:
        """How many more answers it takes until this share of the items is right: (low, high)."""
        if self.n_items < 2:
            return 0, 0
        wrong, needed = self.n_items * (target - self.accuracy()[0]), 0
        for value, _, _ in self._candidates():
            if wrong <= 0:
                break
            wrong -= value
            needed += 1
        return math.floor(needed / 2), math.ceil(needed * 2)

    @property
    def done(self) -> str | None:
        """A sentence when it is sensible to stop."""
        if self.n_items < 2:
            return "There is one item only, so there is nothing to ask."
        if self.next() is None:
            return "Every pair has been asked about."
        return None

    # More than one pair at a time

    def grid(self, size: int = 12) -> tuple[list[int], list[int]] | None:
        """Items that stand for a class, and candidates that most likely belong to it; None where there are none."""
        if self.n_items < 2:
            return None
        biggest = int(self._parts.sizes.argmax())
        anchors = self._central(self._parts.atoms_of(int(self._parts.root[biggest])))[:3]
        q = self._posterior[:, biggest]
        order = [int(i) for i in np.argsort(-q, kind="stable") if q[i] > 0.5 and int(i) not in anchors]
        fresh = [i for i in order if (min(i, anchors[0]), max(i, anchors[0])) not in self._log][:size]
        return (anchors, fresh) if fresh else None

    def strip(self, size: int = 6) -> tuple[int, list[int]] | None:
        """An item, and one that stands for each of its likeliest classes; None where there are none."""
        if self.n_items < 2:
            return None
        for item in np.argsort(self._posterior.max(axis=1), kind="stable")[:20]:
            order = np.argsort(-self._posterior[item, :-1], kind="stable")[:size]
            shown = [pair[1] for c in order if (pair := self._unasked([int(item)], self._members(int(c), int(item))))]
            if shown:
                return int(item), shown
        return None

    def suspects(self, n: int = 10) -> list[tuple[int, int, float, list[tuple[int, int, bool]]]]:
        """Answers that are more likely wrong than right: the pair, its odds of being wrong, and what speaks against it."""
        if self.n_items < 2:
            return []
        q = self._posterior
        found = []
        for answer in self._log.values():
            if answer.same is not None:
                same = float((q[answer.left, :-1] * q[answer.right, :-1]).sum())
                right = same if answer.same else 1 - same
                if right < 0.5:
                    found.append((answer.left, answer.right, (1 - right) / max(right, 1e-9), self._chain(answer)))
        return sorted(found, key=lambda one: -one[2])[:n]

    def _chain(self, answer: Answer) -> list[tuple[int, int, bool]]:
        """The other answers about the two items."""
        ends = {answer.left, answer.right}
        return [
            (a.left, a.right, bool(a.same))
            for a in self._log.values()
            if a.same is not None and a is not answer and ends & {a.left, a.right}
        ]


def join_values(parts: Partition) -> Floats:
    """(K, K) How many items a question about two clusters is expected to put right, symmetric.

    A small cluster is hardly a class of its own where the others are large: it belongs to one of them, and the odds
    say to which.
    """
    sizes = parts.sizes
    order = np.argsort(sizes)
    typical = sizes[order][np.searchsorted(np.cumsum(sizes[order]), sizes.sum() / 2)]  # of the class of most items
    if len(sizes) < 2:
        return np.zeros((1, 1))
    own = np.log(sizes / typical) + logsumexp(parts.prior, axis=1)  # the odds of being a class, before any answer
    to = np.exp(parts.between - np.logaddexp(own, logsumexp(parts.between, axis=1))[:, None])
    smaller = sizes[:, None] <= sizes
    belongs = np.where(smaller, to, to.T)
    return np.asarray(np.maximum(expit(parts.between), belongs) * np.minimum(sizes[:, None], sizes))
