"""The pair worth asking next, and the classes that follow from the answers.

Begin from the best partition without answers, and ask what puts most items right (`candidates.py`). One question in ten
is a random audit (`audit.py`). All that is known follows from the seed, the items and the answers in their order, so
that a log of answers replayed gives the same state.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from likewise.clustering.constraints import Floats, Ints
from likewise.errors import InputError
from likewise.querying import audit
from likewise.querying.beliefs import Beliefs
from likewise.querying.candidates import WHY, Question, any_pair, ask, candidates, members, middle_items, unasked
from likewise.querying.choice import best_view, without_answers
from likewise.querying.contradictions import chain_against
from likewise.querying.spaces import read_items, spaces
from likewise.querying.view import View, see

AUDIT = 10  # one question in so many is random
TARGET = 0.95  # accuracy at which stopping is sensible
LEAST_LOW = 0.75  # of its interval
LEAST_AUDITS = 3
MOST_TO_COMPARE = 10_000  # items, in several spaces: each takes as long to set up
STEADY = 0.002  # of the items: what the next question is worth when little is left
SURE = 0.5  # items of a grid are in its class with this probability at least

Chain = list[tuple[int, int, bool]]


class Answer(NamedTuple):
    left: int
    right: int
    same: bool | None
    annotator: str | None
    audit: bool


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
        self._log: dict[tuple[int, int], Answer] = {}
        if self.n_items > 1:
            every = spaces(items) if self.n_items <= MOST_TO_COMPARE else dict([next(iter(spaces(items).items()))])
            self._views: list[View] = [see(name, rows, seed) for name, rows in every.items()]
            self._bases = [without_answers(view) for view in self._views]

    # The answers

    @property
    def answers(self) -> int:
        """The number of pairs that were answered; "not sure" is no answer."""
        return sum(answer.same is not None for answer in self._log.values())

    def tell(self, i: int, j: int, same: bool | None, annotator: str | None = None) -> None:
        """True for same, False for different, None for not sure. A later one about the pair replaces it."""
        key = self._key(i, j)
        is_audit = self._audit_is_due and key not in self._log and self._audit_item in key
        self._log[key] = Answer(*key, None if same is None else bool(same), annotator, is_audit)
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
        return pair_of(int(i), int(j))

    def _forget(self) -> None:
        for name in ("_beliefs", "_question", "labels_"):
            self.__dict__.pop(name, None)

    # What follows from them

    @cached_property
    def _beliefs(self) -> Beliefs:
        rows = [(answer.left, answer.right, answer.same) for answer in self._log.values() if answer.same is not None]
        table = np.array(rows, dtype=np.int64).reshape(-1, 3)
        ends, same = table[:, :2], table[:, 2] > 0
        return Beliefs(self._views[best_view(self._views, self._bases, ends, same)], ends, same, self._n_classes)

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

    def next(self) -> tuple[int, int] | None:
        """The pair worth asking about; None when nothing is left to ask."""
        question = self._question
        self.kind, self.why = (question.kind, WHY[question.kind]) if question else ("", "")
        return (question.left, question.right) if question else None

    def peek(self, i: int, j: int, same: bool | None) -> tuple[int, int] | None:
        """The pair that would be asked after this answer."""
        other = object.__new__(QuestionChooser)
        other.__dict__.update(self.__dict__)
        other._log = dict(self._log)
        other.tell(i, j, same)
        return other.next()

    @cached_property
    def _question(self) -> Question | None:
        if self.n_items < 2:
            return None
        if self._audit_is_due and (random := self._audit()):
            return random
        for candidate in candidates(self._beliefs):
            if question := ask(self._beliefs, candidate, self._log):
                return question
        return self._audit() or next(any_pair(self.n_items, self._log, self._random(1)), None)

    def _random(self, purpose: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, len(self._log), purpose])

    # Audits, and what they say

    @property
    def _audit_is_due(self) -> bool:
        return len(self._log) % AUDIT == AUDIT - 1

    @property
    def _audit_item(self) -> int:
        return int(self._random(0).integers(self.n_items))

    def _audit(self) -> Question | None:
        """A random item and a member of its class."""
        item, q = self._audit_item, self._beliefs.posterior
        pair = unasked([item], members(self._beliefs, int(q[item, :-1].argmax()), item), self._log)
        return Question(*pair, "audit") if pair else None

    @property
    def _audits(self) -> list[Answer]:
        return [answer for answer in self._log.values() if answer.audit and answer.same is not None]

    def accuracy(self) -> tuple[float, float, float]:
        """The share of the items whose class is right: an estimate, and its interval (low, high)."""
        if self.n_items == 1:
            return 1.0, 1.0, 1.0
        return audit.accuracy(self._beliefs, sum(bool(one.same) for one in self._audits), len(self._audits))

    def unseen(self) -> float:
        """The share of the items whose class no audit has met."""
        return audit.unseen_share([self.labels_[one.left] for one in self._audits])

    def forecast(self, target: float = TARGET) -> tuple[int, int]:
        """How many more answers it takes until this share of the items is right (low, high)."""
        if not 0 < target <= 1:
            raise InputError(f"target is {target}; give an accuracy above 0 and at most 1.")
        if self.n_items == 1:
            return 0, 0
        values = np.array([candidate.value for candidate in candidates(self._beliefs)])
        estimate, low, _ = self.accuracy()
        return audit.forecast(self.n_items, values, estimate, low, target)

    @property
    def done(self) -> str | None:
        """A sentence when it is sensible to stop: audits, what the next question is worth, and classes seen agree."""
        if self.n_items == 1:
            return "There is one item only, so there is nothing to ask."
        if self._question is None:
            return "Every pair has been asked about."
        estimate, low, _ = self.accuracy()
        if estimate < TARGET or low < LEAST_LOW or len(self._audits) < LEAST_AUDITS:
            return None
        best = max((candidate.value for candidate in candidates(self._beliefs)), default=0.0)
        if best > max(1.0, STEADY * self.n_items) or not all(one.same for one in self._audits[-LEAST_AUDITS:]):
            return None
        return (
            f"About {100 * estimate:.0f} % of the items are in the right class, and more answers would change little."
        )

    # More than one pair at a time

    def grid(self, size: int = 12) -> tuple[list[int], list[int]] | None:
        """Items that stand for a class, and others of it that are most in doubt; None where none are left to ask."""
        if self.n_items < 2:
            return None
        beliefs, view = self._beliefs, self._beliefs.view
        column, doubt = beliefs.posterior.argmax(axis=1), 1 - beliefs.posterior.max(axis=1)
        total = np.bincount(column, doubt, minlength=beliefs.posterior.shape[1])[:-1]
        for cluster in np.argsort(-total, kind="stable"):
            anchors = middle_items(beliefs, np.flatnonzero(beliefs.parts.cluster == cluster))[:3]
            inside = np.flatnonzero((column == cluster) & (doubt <= 1 - SURE))
            order = inside[np.lexsort((-doubt[inside], view.rank[inside] > 0))]
            fresh = [int(i) for i in order if i not in anchors and pair_of(int(i), anchors[0]) not in self._log]
            if fresh:
                return anchors, fresh[:size]
        return None

    def strip(self, size: int = 6) -> tuple[int, list[int]] | None:
        """An item, and one that stands for each of its likeliest classes; None where none are left to ask."""
        if self.n_items < 2:
            return None
        q = self._beliefs.posterior
        for item in np.argsort(q.max(axis=1), kind="stable")[:20]:
            likely = np.argsort(-q[item, :-1], kind="stable")[:size]
            pairs = [unasked([int(item)], members(self._beliefs, int(c), int(item)), self._log) for c in likely]
            if shown := [pair[1] for pair in pairs if pair]:
                return int(item), shown
        return None

    def suspects(self, n: int = 10) -> list[tuple[int, int, float, Chain]]:
        """The answers most likely to be wrong: the pair, the odds against it, and the chain that speaks against it."""
        if self.n_items < 2:
            return []
        beliefs = self._beliefs
        q, (left, right) = beliefs.posterior[:, :-1], beliefs.ends.T
        together = (q[left] * q[right]).sum(axis=1)
        credible = np.where(beliefs.same, together, 1 - together)
        order = np.argsort(credible, kind="stable")[:n]
        return [
            (
                int(left[k]),
                int(right[k]),
                float((1 - credible[k]) / max(credible[k], 1e-9)),
                chain_against(beliefs, int(k)),
            )
            for k in order
            if credible[k] < 0.5
        ]


def pair_of(i: int, j: int) -> tuple[int, int]:
    """The pair as it is known: the smaller number first."""
    return min(i, j), max(i, j)
