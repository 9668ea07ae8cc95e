"""How often each annotator is wrong: rates of false "different" and false "same", with a prior that all share.

    e_r = P(says different | same),   d_r = P(says same | different)
    log-odds of an answer y of weight w:   w log [y (1 - e) + (1 - y) e] / [y d + (1 - y)(1 - d)]

A rate has a Beta prior around the mean of the other annotators, which is as narrow as the annotators are alike; so one
with few answers is taken to be like the others. Beneath that is 1 wrong answer in 10. The interval of a rate takes
into account that nobody knows which pairs are the same (Louis, 1982): what the rate would be worth if that were known,
less what is missing.

A classifier that was taught the answers has learned some wrong ones, which then look right, so that rates come out too
low. Answers that it was not taught show by how much (`hidden_errors`). With rates, answers are evidence: what the
witnesses of a pair said is weighed by how often each of them is wrong (`evidence`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, expit
from scipy.stats import beta

from likewise.pairs.pair_keys import pair_keys

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIOR_WRONG, PRIOR_ANSWERS = 1.0, 10.0  # what is known of anybody
STRENGTHS = 2.0 ** np.arange(1, 7)  # answers that the mean of the others may be worth
USUAL_STRENGTH, SPREAD = np.log(20.0), 1.0  # of the logarithm of this number, where few annotators show it
CERTAIN = 1e-6  # no rate comes nearer to 0 or 1
CONFIDENCE = 0.95
HIDDEN = np.array([0.1, 0.03])  # of false "different" and false "same": by how much rates may well be too low
HIDDEN_STEPS = 30
MISINFORMED = 0.25  # the least informedness below 0 of one who answers the wrong way round: guesses are near 0
UNINFORMED = 0.5  # the most that the informedness of one who looks random may be


class AnswersByAnnotator(NamedTuple):
    """Answers that say something: what, with what weight, and who."""

    same: Floats  # (m,)
    weight: Floats  # (m,)
    who: Ints  # (m,)
    n_annotators: int

    @classmethod
    def of(cls, pairs: Pairs, rows: Ints | slice = slice(None)) -> AnswersByAnnotator:
        """Some of the answers; those that name nobody are all by one."""
        same, weight = (column[rows].astype(np.float64) for column in (pairs.same, pairs.weight))
        who = np.zeros(len(same), dtype=np.int64) if pairs.annotator is None else pairs.annotator[rows].astype(np.int64)
        return cls(same, weight, who, max(len(pairs.annotators), 1))

    def select(self, rows: NDArray[np.bool_]) -> AnswersByAnnotator:
        return AnswersByAnnotator(self.same[rows], self.weight[rows], self.who[rows], self.n_annotators)

    def per_annotator(self, values: Floats) -> Floats:
        return np.bincount(self.who, values, minlength=self.n_annotators).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of each annotator, with 95 % intervals.

    >>> from likewise.pairs import Pairs
    >>> index_pairs = [(0, 1), (0, 1), (1, 2), (1, 2), (0, 2), (0, 2)]
    >>> pairs = Pairs.from_arrays(index_pairs, [1, 1, 1, 0, 1, 0], annotator=[*"ababab"])
    >>> rates = pairs.posterior(n_classes=2).rates
    >>> rates.annotators, rates.n_answers
    (('a', 'b'), array([3, 3]))
    """

    annotators: tuple[str, ...]  # one without a name where nobody is named
    n_answers: Ints  # (A,) that say something
    false_different: Floats  # (A,) how often a pair that is the same is called different
    false_same: Floats  # (A,) how often a pair that is different is called the same
    false_different_interval: Floats  # (A, 2)
    false_same_interval: Floats  # (A, 2)
    informedness_interval: Floats  # (A, 2)
    says_same: Floats  # (A,) the share of answers "same"

    @property
    def informedness(self) -> Floats:
        """(A,) 1 - false different - false same: 1 always right, 0 at random, -1 always the wrong way round."""
        return 1 - self.false_different - self.false_same

    @property
    def reversed(self) -> NDArray[np.bool_]:
        """(A,) Who surely answers the wrong way round."""
        return np.asarray((self.informedness_interval[:, 1] < 0) & (self.informedness < -MISINFORMED))

    @property
    def random(self) -> NDArray[np.bool_]:
        """(A,) Whose answers seem to have nothing to do with the items: at random, or always the same answer."""
        low, high = self.informedness_interval.T
        return np.asarray(~self.reversed & (low <= 0) & (high < UNINFORMED))


def log_odds(answers: AnswersByAnnotator, false_different: Floats, false_same: Floats) -> Floats:
    """(m,) What each answer adds to the log-odds that its pair is the same.

    >>> said = AnswersByAnnotator(np.array([1.0, 0.5, 0.0]), np.ones(3), np.zeros(3, dtype=np.int64), 1)
    >>> np.exp(log_odds(said, np.array([0.1]), np.array([0.1]))).round(3)
    array([9.   , 1.   , 0.111])
    """
    e, d, y = false_different[answers.who], false_same[answers.who], answers.same
    return np.asarray(answers.weight * (np.log(y * (1 - e) + (1 - y) * e) - np.log(y * d + (1 - y) * (1 - d))))


def estimate(
    answers: AnswersByAnnotator, same: Floats, false_different: Floats, false_same: Floats
) -> tuple[Floats, Floats]:
    """Both rates of each annotator, given how likely each answer's pair is the same and the rates so far."""
    counts = _counts(answers, same, false_different, false_same)
    missing = _missing(answers, same, false_different, false_same)
    return (
        _mean(*_shrunk(*counts[0], missing[0, 0])),
        _mean(*_shrunk(*counts[1], missing[1, 1])),
    )


class HiddenErrors(NamedTuple):
    """What is added to the rates of false "different" and of false "same" of all annotators."""

    added: Floats  # (2,) 0 or more
    covariance: Floats  # (2, 2)


NOTHING_HIDDEN = HiddenErrors(np.zeros(2), np.zeros((2, 2)))


def hidden_errors(
    answers: AnswersByAnnotator, same: Floats, false_different: Floats, false_same: Floats
) -> HiddenErrors:
    """By how much the rates are too low, by answers that the classifier was not taught.

    With p = P(same) by all but the answer itself, which is `same`, the answer is "same" with probability

        p (1 - e_r - a) + (1 - p) (d_r + b)

    a and b are the most likely ones, 0 or more, with a normal prior around 0 (`HIDDEN`), by Fisher's scoring.
    """
    e, d = false_different[answers.who], false_same[answers.who]
    slope = np.stack([-same, 1 - same], axis=1)  # (m, 2) of P(says same) by a and b
    added, prior = np.zeros(2), np.diag(1 / HIDDEN**2)
    information = prior
    for _ in range(HIDDEN_STEPS):
        says_same = (same * (1 - e) + (1 - same) * d + slope @ added).clip(1e-3, 1 - 1e-3)
        weight = answers.weight / (says_same * (1 - says_same))
        information = np.einsum("mi,m,mj->ij", slope, weight, slope) + prior
        step = np.linalg.solve(information, slope.T @ (weight * (answers.same - says_same)) - prior @ added)
        added = np.maximum(added + step, 0.0)
    return HiddenErrors(added, np.asarray(np.linalg.inv(information), dtype=np.float64))


def summarise_rates(
    answers: AnswersByAnnotator,
    annotators: tuple[str, ...],
    same: Floats,
    false_different: Floats,
    false_same: Floats,
    hidden: HiddenErrors = NOTHING_HIDDEN,
) -> tuple[Rates, float]:
    """The rates with their intervals, and the variance that they leave in the share of wrong answers."""
    e, d = false_different, false_same
    counts = _counts(answers, same, e, d)
    missing = _missing(answers, same, e, d)
    shrunk = [sum(_shrunk(*counts[k], missing[k, k])) for k in (0, 1)]
    complete = np.array([shrunk[0] * e * (1 - e), shrunk[1] * d * (1 - d)])  # (2, A) if all pairs were known
    information = (np.eye(2)[:, :, None] * complete - missing).transpose(2, 0, 1)  # (A, 2, 2)
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, 1e-3 * complete.min(axis=0)[:, None])
    covariance = np.einsum("aij,aj,akj->aik", vectors, 1 / values, vectors)  # (A, 2, 2) of the logits

    slope = np.stack([e * (1 - e), d * (1 - d)], axis=1)  # (A, 2) of the rates by their logits
    unsure = np.einsum("ai,aij,aj->aij", slope, covariance, slope) + hidden.covariance  # (A, 2, 2) of the rates
    number = np.stack([counts[0][1], counts[1][1]], axis=1)  # (A, 2) chances to be wrong
    own = np.einsum("ai,aij,aj->", number * slope, covariance, number * slope)
    variance = float(own + number.sum(0) @ hidden.covariance @ number.sum(0)) / max(len(answers.same), 1) ** 2
    e, d = (np.clip(rate + more, CERTAIN, 1 - CERTAIN) for rate, more in zip((e, d), hidden.added, strict=True))
    informed = 1 - e - d
    spread = 1.96 * np.sqrt(unsure.sum(axis=(1, 2)))
    says_same = answers.per_annotator((answers.same > 0.5).astype(np.float64))
    n_answers = np.bincount(answers.who, minlength=answers.n_annotators)
    rates = Rates(
        annotators=annotators,
        n_answers=n_answers,
        false_different=e,
        false_same=d,
        false_different_interval=share_interval(e, unsure[:, 0, 0]),
        false_same_interval=share_interval(d, unsure[:, 1, 1]),
        informedness_interval=np.stack([informed - spread, informed + spread], axis=1).clip(-1, 1),
        says_same=says_same / np.maximum(n_answers, 1),
    )
    return rates, variance


def share_interval(share: Floats, variance: Floats) -> Floats:
    """(..., 2) The interval of the Beta distribution with this mean and variance."""
    share = np.clip(share, CERTAIN, 1 - CERTAIN)
    size = np.maximum(share * (1 - share) / np.maximum(variance, 1e-30) - 1, 1e-3)
    tail = (1 - CONFIDENCE) / 2
    return np.stack([beta.ppf(q, share * size, (1 - share) * size) for q in (tail, 1 - tail)], axis=-1)


def _counts(
    answers: AnswersByAnnotator, same: Floats, e: Floats, d: Floats
) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """For each annotator the expected wrong answers and chances to give one, of same pairs and of different ones.

    A soft answer y is the mixture of saying "same", y, and "different", 1 - y: which of the two is inferred as well.
    """
    e, d, y = e[answers.who], d[answers.who], answers.same
    says_different = (1 - y) * e / np.maximum(y * (1 - e) + (1 - y) * e, 1e-300)  # if the pair is the same
    says_same = y * d / np.maximum(y * d + (1 - y) * (1 - d), 1e-300)  # if it is different
    if_same, if_different = answers.weight * same, answers.weight * (1 - same)
    return (
        (answers.per_annotator(if_same * says_different), answers.per_annotator(if_same)),
        (answers.per_annotator(if_different * says_same), answers.per_annotator(if_different)),
    )


def _missing(answers: AnswersByAnnotator, same: Floats, e: Floats, d: Floats) -> Floats:
    """(2, 2, A) What is missing of the information about logit e and logit d, as nobody knows which pairs are the same.

    It is the variance of the score, which is (says different - e) for logit e where the pair is the same, and
    (says same - d) for logit d where it is different.
    """
    one, other = (1 - answers.same) - e[answers.who], answers.same - d[answers.who]
    unknown = answers.weight * same * (1 - same)
    both = -answers.per_annotator(unknown * one * other)
    return np.array(
        [[answers.per_annotator(unknown * one**2), both], [both, answers.per_annotator(unknown * other**2)]]
    )


def _shrunk(wrong: Floats, chances: Floats, missing: Floats) -> tuple[Floats, Floats]:
    """The Beta posterior of each annotator's rate, by the expected wrong answers and chances to give one.

    Its prior is made of the others, so nothing is counted twice; each of these counts as far as it is known.
    """
    share = wrong / np.maximum(chances, 1e-12)
    known = 1 - missing / np.maximum(chances * share * (1 - share), 1e-12)
    known = np.where(missing > 0, known.clip(0, 1), 1.0)
    sure_wrong, sure = known * wrong, known * chances
    others = sure.sum() - sure + PRIOR_ANSWERS
    mean = (sure_wrong.sum() - sure_wrong + PRIOR_WRONG) / others
    fits = []
    for strength in STRENGTHS:
        size = 1 / (1 / strength + 1 / others)
        a, b = mean * size, (1 - mean) * size
        evidence = float((betaln(a + sure_wrong, b + sure - sure_wrong) - betaln(a, b)).sum())
        fits.append(evidence - ((np.log(strength) - USUAL_STRENGTH) / SPREAD) ** 2 / 2)
    size = 1 / (1 / STRENGTHS[int(np.argmax(fits))] + 1 / others)
    return mean * size + wrong, (1 - mean) * size + chances - wrong


def _mean(a: Floats, b: Floats) -> Floats:
    return np.asarray((a / (a + b)).clip(CERTAIN, 1 - CERTAIN))


LEAST = 0.02  # a pair of which P(same) is as near to 1/2 tells nothing
SUREST = 12.0  # log-odds, in favour or against


def credibility(pairs: Pairs, false_different: Floats, false_same: Floats) -> Floats:
    """(m,) P(same) by each answer alone, whose annotator has these rates (A,): 1/2 where it says nothing."""
    odds = log_odds(AnswersByAnnotator.of(pairs), false_different, false_same)
    return np.asarray(expit(odds.clip(-SUREST, SUREST)))


def evidence(pairs: Pairs, false_different: Floats, false_same: Floats) -> Pairs:
    """One answer for each pair: `same` is P(same) by all answers about it; those that tell nothing are left out."""
    odds = log_odds(AnswersByAnnotator.of(pairs), false_different, false_same)
    _, first, place = np.unique(
        pair_keys(pairs.left, pairs.right, pairs.n_items), return_index=True, return_inverse=True
    )
    same = expit(np.bincount(place, odds, minlength=len(first)).clip(-SUREST, SUREST))
    one = replace(pairs.select(first), annotator=None, annotators=())
    one = replace(one, same=same.astype(np.float32), weight=np.ones(len(first), dtype=np.float32))
    return one.select(np.abs(same - 0.5) > LEAST)
