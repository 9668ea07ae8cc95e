"""All that answers say of the items in one view: who is wrong how often, the classes, and each item's place in them.

It follows from the view and the answers alone. First the atoms are joined with a guess of how often answers are wrong;
then the share of each annotator and the scale of links are learned from that, and the atoms are joined again.

    e = (expected wrong answers of all + WRONG UNSURE) / (answers of all + UNSURE)
    e_r = (expected wrong answers of r + e ALIKE) / (answers of r + ALIKE)

So an annotator of whom little is known is taken to be like the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, logsumexp

from likewise.clustering.constraints import Floats, Ints
from likewise.querying.choice import calibrate, scale_to_join
from likewise.querying.membership import membership
from likewise.querying.partition import GUESS, Partition, partition, weigh
from likewise.querying.view import CENTRAL, View

WRONG, LEAST_WRONG = 0.05, 0.005  # the share of wrong answers: where its estimate begins, and its least
UNSURE = 20  # answers that this guess counts as
ALIKE = 20  # answers that the share of all counts as for each annotator
FAR = -4.0  # log-odds by links below which two groups are far apart
PLACES = 0.3  # other places that a class is in, for each group: where the estimate begins
NEAREST = 2  # groups that are the likeliest other place; others are the less likely the farther they are
FAR_ANSWERS = 5  # answers that this guess counts as
ASTRAY = 0.05  # the share of answers that are right, but about an item that is not of the class of its group
ERROR, FEW_AUDITS = 0.1, 5  # the share of items in a wrong class: a guess, and audits that it counts as
SAMPLE = 5000  # items, about, that the temperature of their doubt is found with
HOTTEST, HALVINGS = 3.0, 8  # of the search for a temperature: its largest logarithm, and steps
OTHERS = 0.25  # how much an answer about an item that does not stand for its atom says of the atom


@dataclass(frozen=True, eq=False)
class Beliefs:
    view: View
    base: Partition  # the classes without answers
    ends: Ints  # (m, 2) the pairs that were answered
    same: NDArray[np.bool_]  # (m,)
    who: Ints  # (m,) the annotator of each answer, from 0
    n_classes: int | None  # where it is known
    audits: tuple[int, int] = (0, 0)  # random audits that were answered "different", and all of them

    @cached_property
    def _central(self) -> NDArray[np.bool_]:
        """(m,) Whether both items of an answer stand for their atoms."""
        return np.asarray((self.view.rank[self.ends] < CENTRAL).all(axis=1))

    @cached_property
    def _first(self) -> Partition:
        if not len(self.same):
            return self.base
        said = self._said(np.full(len(self.same), WRONG))
        return partition(self.view, GUESS, said, self.n_classes)

    @cached_property
    def wrong(self) -> float:
        """The share of wrong answers."""
        return self._shares_wrong[0]

    @cached_property
    def wrong_by(self) -> Floats:
        """(A,) The share of wrong answers of each annotator."""
        return self._shares_wrong[1]

    @cached_property
    def _shares_wrong(self) -> tuple[float, Floats]:
        rows = self._central
        odds = self._first.odds_between(self.view.atom[self.ends[rows]])
        against = np.where(self.same[rows], -odds, odds)
        wrong = np.where(against > 0, expit(against), 0.0)  # most answers that are believed are right
        everyone = max(LEAST_WRONG, float(wrong.sum() + WRONG * UNSURE) / (len(wrong) + UNSURE))
        size = int(self.who.max(initial=-1)) + 1
        own, number = (np.bincount(self.who[rows], each, minlength=size) for each in (wrong, np.ones(len(wrong))))
        return everyone, np.maximum(LEAST_WRONG, (own + everyone * ALIKE) / (number + ALIKE))

    @cached_property
    def parts(self) -> Partition:
        """The classes, as clusters of atoms."""
        if not len(self.same):
            return self._first
        links = self._first.links_between(self.view.atom[self.ends][self._central])
        scale = scale_to_join(links, self.same[self._central])
        return partition(self.view, scale, self._said(self.wrong_by[self.who]), self.n_classes)

    @cached_property
    def posterior(self) -> Floats:
        """(n, K + 1) How likely each item is in each cluster, and in a class nobody has seen."""
        if not len(self.same):
            return membership(self.view, self.parts)
        n, w = len(self.view.atom), np.where(self.same, 1.0, -1.0) * log_odds(self.wrong_by[self.who])
        both = (self.ends.T.ravel(), self.ends[:, ::-1].T.ravel())
        odds = csr_array(coo_array((np.tile(w, 2), both), shape=(n, n)))
        return membership(self.view, self.parts, self._said(self.wrong_by[self.who]), odds)

    @cached_property
    def doubt(self) -> Floats:
        """(n,) How likely an item is in a wrong class; of those not asked about, on average as likely as audits say.

        Neighbours agree with each other even where they are wrong together, so that the posterior is too sure of them.
        """
        wrong, number = self.audits
        share = (wrong + ERROR * FEW_AUDITS) / (number + FEW_AUDITS)
        q = self.posterior
        doubt, free = 1 - q.max(axis=1), ~self.asked
        log_q = np.log(np.maximum(q[free, :-1], 1e-9))
        log_q -= log_q.max(axis=1, keepdims=True)
        some = log_q[:: max(1, len(log_q) // SAMPLE)]
        low, high = 0.0, HOTTEST  # the temperature, as a logarithm
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            mean = (1 - 1 / np.exp(some / np.exp(middle)).sum(axis=1)).sum() / max(len(some), 1)
            low, high = (middle, high) if mean < share else (low, middle)
        doubt[free] = np.maximum(doubt[free], 1 - 1 / np.exp(log_q / np.exp(low)).sum(axis=1))
        return np.asarray(doubt)

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """(n,) Whether an answer is about an item."""
        asked = np.zeros(len(self.view.atom), dtype=np.bool_)
        asked[self.ends.ravel()] = True
        return asked

    def _said(self, wrong: Floats) -> Floats:
        """(M, M) The log-odds of the answers, summed for each two atoms and shared with those around them.

        `wrong` (m,) is how likely each answer is wrong.

        Otherwise a group that answers split would be put together again another way: the atom that was asked about
        stays apart, and those around it change sides.
        """
        wrong = wrong + (1 - 2 * wrong) * ASTRAY
        credit = np.where(self.view.rank[self.ends] < CENTRAL, 1.0, OTHERS).prod(axis=1) * log_odds(wrong)
        said = np.zeros((self.view.n_atoms, self.view.n_atoms))
        np.add.at(said, tuple(self.view.atom[self.ends].T), np.where(self.same, credit, -credit))
        said = self.view.like @ (said + said.T) @ self.view.like.T
        np.fill_diagonal(said, 0)
        return said

    @cached_property
    def elsewhere(self) -> float:
        """The share of groups far apart that are one class all the same, as far as they were asked about.

        A class may be in several places that no links join. Where answers show that classes are, more is asked.
        """
        atoms = self.view.atom[self.ends[self._central]]
        links = self._first.links_between(atoms)
        far = GUESS.odds(links[:, 0], links[:, 1]) < FAR
        one = expit(self._first.odds_between(atoms[far])) * self.same[self._central][far]
        guess = FAR_ANSWERS * PLACES / max(self.base.n_clusters, 2)
        return float(guess + one.sum()) / (FAR_ANSWERS + int(far.sum()))

    @cached_property
    def joins(self) -> Floats:
        """(K, K) How likely two clusters are one class, symmetric.

        A small cluster is hardly a class of its own where the others are large: it belongs to one of them, and the
        odds say to which. Answers that deny one after the other make it a class again.
        """
        parts, sizes = self.parts, self.parts.sizes
        if len(sizes) < 2:
            return np.zeros((1, 1))
        links = self._first.links_between(self.view.atom[self.ends][self._central])
        prior = calibrate(links, self.same[self._central]).odds(parts.apart[..., 0], parts.apart[..., 1])
        rank = np.argsort(np.argsort(-prior, axis=1, kind="stable"), axis=1)  # 0 for the group nearest by links
        share = self.elsewhere / np.maximum(np.minimum(rank, rank.T) / NEAREST, 1.0)
        least = np.log(share / (1 - share))
        joined = weigh(prior, parts.said)
        between = np.where(parts.said > 0, joined, np.maximum(prior, least) + parts.said)
        order = np.argsort(sizes, kind="stable")
        typical = sizes[order][np.searchsorted(np.cumsum(sizes[order]), sizes.sum() / 2)]  # of the class of most items
        favour = np.minimum(np.log(sizes / typical), 0.0)  # of being part of a large class, and not of another part
        own = np.log(sizes / typical) + logsumexp(prior + favour, axis=1)  # of being a class, before any answer
        to = joined + favour
        to = np.exp(to - np.logaddexp(own, logsumexp(to, axis=1))[:, None])
        belongs = np.where(sizes[:, None] <= sizes, to, to.T)
        return np.asarray(np.maximum(expit(between), np.maximum(np.triu(belongs), np.triu(belongs).T)))


def log_odds(wrong: Floats) -> Floats:
    """What an answer adds to the log-odds, when it is wrong with such a probability."""
    return np.asarray(np.log((1 - wrong) / wrong))
