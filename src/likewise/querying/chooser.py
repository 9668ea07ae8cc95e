"""The pair worth asking next, and the classes that follow from the answers.

Begin from the best partition without answers, and ask what puts most items right (`candidates.py`). One question in ten
is a random audit (`audit.py`). All that is known follows from the seed, the items and the answers in their order, so
that a log of answers replayed gives the same state.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from likewise.clustering.constraints import Floats, Ints
from likewise.errors import InputError
from likewise.querying import audit, screens, stopping
from likewise.querying.beliefs import Beliefs
from likewise.querying.candidates import (
    NOTHING_SETTLED,
    WHY,
    Candidate,
    Question,
    Settled,
    any_pair,
    ask,
    candidates,
    middle_items,
    pair_of,
    unasked,
)
from likewise.querying.choice import best_view, without_answers
from likewise.querying.contradictions import Suspect, suspects
from likewise.querying.forecast import forecast
from likewise.querying.spaces import read_items, spaces
from likewise.querying.view import View, see

AUDIT = 10  # one question in so many is random
TARGET = 0.95  # accuracy at which stopping is sensible
MOST_TO_COMPARE = 10_000  # items, in several spaces: each takes as long to set up

SMALL = 20_000  # items whose matrices one thread multiplies

Pair = tuple[int, int]


class Answer(NamedTuple):
    left: int
    right: int
    same: bool | None
    annotator: str | None
    audit: bool


@cache
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()  # looks at all libraries that are loaded, once


class QuestionChooser:
    """Chooses the pairs worth asking about, and keeps the classes that follow from the answers.

    Parameters
    ----------
    X : features (n, d), or images (n, H, W) or (n, C, H, W).
    n_classes : the number of classes, where it is known.
    seed : of the random choices; the same seed and answers give the same questions.

    Attributes
    ----------
    labels_ : (n,) the class of each item, from 0.
    n_classes_ : how many there are.
    proba_ : (n, n_classes_) how likely each item is in each class.
    kind, why : of the last question: "join", "split", "verify", "audit" or "new", and a sentence.
    done : a sentence when it is sensible to stop, else None.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=4, random_state=1, cluster_std=0.5)
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
        if seed < 0:
            raise InputError(f"seed is {seed}; give a whole number from 0.")
        self.n_items, self.seed = len(items), seed
        self.kind, self.why = "", ""
        self._n_classes = n_classes
        self._log: dict[tuple[int, int, str | None], Answer] = {}
        self._settled = NOTHING_SETTLED
        if self.n_items > 1:
            every = spaces(items) if self.n_items <= MOST_TO_COMPARE else dict([next(iter(spaces(items).items()))])
            with self._threads():
                self._views: list[View] = [see(name, rows, seed) for name, rows in every.items()]
                self._bases = [without_answers(view, n_classes) for view in self._views]

    def _threads(self) -> AbstractContextManager[object]:
        """One thread for small matrices: more of them only wait for each other, ten times as long beside other work."""
        limited: AbstractContextManager[object] = _threadpools().limit(limits=1 if self.n_items <= SMALL else None)
        return limited

    # The answers

    @property
    def answers(self) -> int:
        """The number of answers; "not sure" is none."""
        return sum(answer.same is not None for answer in self._log.values())

    def tell(
        self, i: int, j: int, same: bool | None, annotator: str | None = None, *, audit: bool | None = None
    ) -> None:
        """True for same, False for different, None for not sure. A later one by the same annotator replaces it.

        `audit` says whether the pair was asked as a random audit. Default: whether one is due, and the pair fits.
        """
        pair = self._pair(i, j)
        if audit is None:
            audit = self._audit_is_due and pair not in self._asked and self._audit_item in pair
        self._log[*pair, annotator] = Answer(*pair, None if same is None else bool(same), annotator, audit)
        self._forget()

    def withdraw(self, i: int, j: int, annotator: str | None = None) -> None:
        """Forget the answer of an annotator about a pair."""
        if self._log.pop((*self._pair(i, j), annotator), None) is None:
            raise InputError(f"There is no answer about items {i} and {j} to withdraw.")
        self._forget()

    def settle(self, pure: Iterable[int] = (), finished: Iterable[int] = ()) -> None:
        """Items whose groups people have looked at: nothing in a pure group is verified, nothing of a finished asked.

        These replace those that were settled before. What is asked changes, and not the classes.
        """
        settled = Settled(frozenset(pure), frozenset(finished))
        for item in (*settled.pure, *settled.finished):
            if not 0 <= item < self.n_items:
                raise InputError(f"There is no item {item}; they are numbered from 0 to {self.n_items - 1}.")
        if settled != self._settled:
            self._settled = settled
            self.__dict__.pop("_candidates", None)

    def _pair(self, i: int, j: int) -> Pair:
        if not (0 <= i < self.n_items and 0 <= j < self.n_items):
            raise InputError(f"There is no pair of items {i} and {j}; they are numbered from 0 to {self.n_items - 1}.")
        if i == j:
            raise InputError(f"Item {i} is paired with itself; an answer is about two items.")
        return pair_of(int(i), int(j))

    def _forget(self) -> None:
        for name in ("_beliefs", "_candidates", "_asked", "_accuracy", "labels_"):
            self.__dict__.pop(name, None)

    @cached_property
    def _asked(self) -> set[Pair]:
        return {(answer.left, answer.right) for answer in self._log.values()}

    # What follows from them

    @property
    def _answered(self) -> list[Answer]:
        return [answer for answer in self._log.values() if answer.same is not None]

    @cached_property
    def _beliefs(self) -> Beliefs:
        return self._from(self._answered)

    def _from(self, answers: Sequence[Answer], view: View | None = None) -> Beliefs:
        """What follows from some answers, in the view that explains them or in this one."""
        ends = np.array([(one.left, one.right) for one in answers], dtype=np.int64).reshape(-1, 2)
        same = np.array([bool(one.same) for one in answers], dtype=np.bool_)
        people = {name: number for number, name in enumerate(dict.fromkeys(one.annotator for one in answers))}
        who = np.array([people[one.annotator] for one in answers], dtype=np.int64)
        place = best_view(self._views, self._bases, ends, same) if view is None else self._views.index(view)
        audits = [one.same for one in answers if one.audit]
        looked = (audits.count(False), len(audits))
        return Beliefs(self._views[place], self._bases[place], ends, same, who, self._n_classes, looked)

    @property
    def space(self) -> str:
        """The space that explains the answers so far: "as given", "unit length", "standardised" or "edges"."""
        return self._beliefs.view.name if self.n_items > 1 else "as given"

    @cached_property
    def labels_(self) -> Ints:
        """(n,) The class of each item, from 0."""
        if self.n_items == 1:
            return np.zeros(1, dtype=np.int64)
        labels = self._beliefs.posterior.argmax(axis=1)
        new = np.flatnonzero(labels == self._beliefs.parts.n_clusters)
        labels[new] += np.arange(len(new))  # each is a class of its own
        return np.asarray(np.unique(labels, return_inverse=True)[1])

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return int(self.labels_.max()) + 1

    @property
    def proba_(self) -> Floats:
        """(n, n_classes_) How likely each item is in each class."""
        if self.n_items == 1:
            return np.ones((1, 1))
        q, labels = self._beliefs.posterior, self.labels_
        column = q.argmax(axis=1)
        proba = np.zeros((self.n_items, self.n_classes_))
        alone = np.flatnonzero(column == q.shape[1] - 1)
        together = np.setdiff1d(np.unique(column), [q.shape[1] - 1])
        for cluster in together:
            proba[:, labels[column == cluster][0]] = q[:, cluster]
        proba[alone, labels[alone]] = q[alone, -1]
        return np.asarray(proba / proba.sum(axis=1, keepdims=True))

    # The next question

    def next(self, exclude: Collection[Pair] = ()) -> Pair | None:
        """The pair worth asking about, none of those excluded; None when nothing is left to ask."""
        with self._threads():
            question = self._question(exclude)
        self.kind, self.why = (question.kind, WHY[question.kind]) if question else ("", "")
        return (question.left, question.right) if question else None

    def peek(
        self, i: int, j: int, same: bool | None, annotator: str | None = None, *, exclude: Collection[Pair] = ()
    ) -> Pair | None:
        """The pair that would be asked after this answer, none of those excluded."""
        other = object.__new__(QuestionChooser)
        other.__dict__.update(self.__dict__)
        other._log = dict(self._log)
        other.tell(i, j, same, annotator)
        return other.next(exclude)

    @cached_property
    def _candidates(self) -> list[Candidate]:
        return candidates(self._beliefs, self._settled)

    def _question(self, exclude: Collection[Pair] = ()) -> Question | None:
        if self.n_items < 2:
            return None
        asked = self._asked | {pair_of(i, j) for i, j in exclude}
        if self._audit_is_due and (random := self._audit(asked)):
            return random
        for candidate in self._candidates:
            if question := ask(self._beliefs, candidate, asked):
                return question
        if len(asked) >= self.n_items * (self.n_items - 1) // 2:
            return None
        return self._audit(asked) or next(any_pair(self._unfinished, asked, self._random(1)), None)

    def _random(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self._log), purpose])

    # Audits, and what they say

    @property
    def _audit_is_due(self) -> bool:
        return len(self._log) % AUDIT == AUDIT - 1

    @property
    def _unfinished(self) -> Ints:
        """The items that are not in a finished group."""
        if not self._settled.finished:
            return np.arange(self.n_items)
        finished = self._settled.clusters(self._beliefs, "join")
        return np.flatnonzero(~finished[self._beliefs.posterior.argmax(axis=1)])

    @property
    def _audit_item(self) -> int:
        items = self._unfinished
        return int(items[self._random(0).integers(len(items))]) if len(items) else -1

    def _audit(self, asked: Collection[Pair]) -> Question | None:
        """A random item, and one that stands for its class."""
        item, beliefs = self._audit_item, self._beliefs
        if item < 0:
            return None
        cluster = int(beliefs.posterior[item, :-1].argmax())
        pair = unasked([item], middle_items(beliefs, np.flatnonzero(beliefs.parts.cluster == cluster)), asked)
        return Question(*pair, "audit") if pair else None

    @property
    def _audits(self) -> list[Answer]:
        return [answer for answer in self._answered if answer.audit]

    def accuracy(self) -> tuple[float, float, float]:
        """The share of the items whose class is right: an estimate, and its interval (low, high)."""
        return self._accuracy

    @cached_property
    def _accuracy(self) -> tuple[float, float, float]:
        if self.n_items == 1:
            return 1.0, 1.0, 1.0
        audits = self._audits
        blind = self._from([one for one in self._answered if not one.audit], self._beliefs.view)
        as_told = stopping.together(blind, [(one.left, one.right) for one in audits])
        hits = sum(bool(said) == one.same for said, one in zip(as_told, audits, strict=True))
        finished = 1 - len(self._unfinished) / self.n_items
        return audit.accuracy(self._beliefs, hits, len(audits), finished)

    def unseen(self) -> float:
        """The share of the items whose class no audit has met."""
        return audit.unseen_share([self.labels_[one.left] for one in self._audits])

    def forecast(self, target: float = TARGET) -> tuple[int, int]:
        """How many more answers it takes until this share of the items is right (low, high)."""
        if not 0 < target <= 1:
            raise InputError(f"target is {target}; give an accuracy above 0 and at most 1.")
        if self.n_items == 1:
            return 0, 0
        values = np.array([candidate.value for candidate in self._candidates])
        return forecast(self.n_items, values, self.accuracy(), target)

    @property
    def done(self) -> str | None:
        """A sentence when it is sensible to stop: audits, patience and stable classes agree (`stopping.py`)."""
        if self.n_items == 1:
            return "There is one item only, so there is nothing to ask."
        if self._question() is None:
            return "Every pair that says something has been asked about."
        before = self._answered[: -stopping.PATIENCE]
        if not before or not stopping.audits_agree(self.accuracy(), len(self._audits), TARGET):
            return None
        return stopping.settled(self._from(before, self._beliefs.view), self._beliefs, self.accuracy())

    # More than one pair at a time

    def grid(self, size: int = 12) -> tuple[list[int], list[int]] | None:
        """Items that stand for a class, and others of it that are most in doubt; None where none are left to ask."""
        return None if self.n_items < 2 else screens.grid(self._beliefs, size, self._asked, self._settled)

    def strip(self, size: int = 6) -> tuple[int, list[int]] | None:
        """An item, and one that stands for each of its likeliest classes; None where none are left to ask."""
        return None if self.n_items < 2 else screens.strip(self._beliefs, size, self._asked, self._settled)

    def suspects(self, n: int = 10) -> list[Suspect]:
        """The answers most likely to be wrong: the pair, the odds against it, and the chain that speaks against it."""
        return [] if self.n_items < 2 else suspects(self._beliefs, n)
