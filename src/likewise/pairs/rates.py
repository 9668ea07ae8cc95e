"""How often each annotator is wrong: rates of false "different" and false "same", with a prior that all share.

    e_r = P(says different | same),   d_r = P(says same | different)
    log-odds of an answer y of weight w:   w log [y (1 - e) + (1 - y) e] / [y d + (1 - y)(1 - d)]

A rate has a Beta prior around the mean of the other annotators, which is as narrow as the annotators are alike; so one
with few answers is taken to be like the others. Beneath that is 1 wrong answer in 20. The interval of a rate takes
into account that nobody knows which pairs are the same (Louis, 1982): what the rate would be worth if that were known,
less what is missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln
from scipy.stats import beta

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PRIOR_WRONG, PRIOR_ANSWERS = 1.0, 20.0  # what is known of anybody
STRENGTHS = 2.0 ** np.arange(1, 10)  # answers that the others' mean may be worth
USUAL_STRENGTH, SPREAD = np.log(20.0), 1.5  # of the logarithm of this number, where few annotators show it
CERTAIN = 1e-6  # no rate comes nearer to 0 or 1
CONFIDENCE = 0.95
UNINFORMED = 0.3  # one whose informedness is surely below this is as good as random


class Told(NamedTuple):
    """Answers that say something: what, with what weight, and who."""

    same: Floats  # (m,)
    weight: Floats  # (m,)
    who: Ints  # (m,)
    n_annotators: int

    def per_annotator(self, values: Floats) -> Floats:
        return np.bincount(self.who, values, minlength=self.n_annotators).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Rates:
    """The rates of each annotator, with 95 % intervals."""

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
        return np.asarray(self.informedness_interval[:, 1] < 0)

    @property
    def random(self) -> NDArray[np.bool_]:
        """(A,) Whose answers surely have little to do with the items: at random, or always the same answer."""
        return np.asarray((self.informedness_interval[:, 1] < UNINFORMED) & ~self.reversed)


def log_odds(told: Told, false_different: Floats, false_same: Floats) -> Floats:
    """(m,) What each answer adds to the log-odds that its pair is the same.

    >>> said = Told(np.array([1.0, 0.5, 0.0]), np.ones(3), np.zeros(3, dtype=np.int64), 1)
    >>> np.exp(log_odds(said, np.array([0.1]), np.array([0.1]))).round(3)
    array([9.   , 1.   , 0.111])
    """
    e, d, y = false_different[told.who], false_same[told.who], told.same
    return np.asarray(told.weight * (np.log(y * (1 - e) + (1 - y) * e) - np.log(y * d + (1 - y) * (1 - d))))


def estimate(told: Told, same: Floats, false_different: Floats, false_same: Floats) -> tuple[Floats, Floats]:
    """Both rates of each annotator, given how likely each answer's pair is the same and the rates so far."""
    (wrong, chances), (also_wrong, other_chances) = _counts(told, same, false_different, false_same)
    return _mean(*_shrunk(wrong, chances)), _mean(*_shrunk(also_wrong, other_chances))


def summarise_rates(
    told: Told, annotators: tuple[str, ...], same: Floats, false_different: Floats, false_same: Floats
) -> tuple[Rates, float]:
    """The rates with their intervals, and the variance that they leave in the share of wrong answers."""
    e, d = false_different, false_same
    counts = _counts(told, same, e, d)
    a, b = ((sum(_shrunk(*each)) * rate * (1 - rate)) for each, rate in zip(counts, (e, d), strict=True))
    # The score of logit e is (says different - e) where the pair is the same, that of logit d where it is not.
    one, other = (1 - told.same) - e[told.who], told.same - d[told.who]
    unknown = told.weight * same * (1 - same)
    information = np.empty((told.n_annotators, 2, 2))
    information[:, 0, 0] = a - told.per_annotator(unknown * one**2)
    information[:, 1, 1] = b - told.per_annotator(unknown * other**2)
    information[:, 0, 1] = information[:, 1, 0] = told.per_annotator(unknown * one * other)
    least = np.minimum(a, b) * 1e-3
    values, vectors = np.linalg.eigh(information)
    values = np.maximum(values, least[:, None])
    covariance = np.einsum("aij,aj,akj->aik", vectors, 1 / values, vectors)  # (A, 2, 2) of the logits

    slope = np.stack([e * (1 - e), d * (1 - d)], axis=1)  # (A, 2) of the rates by their logits
    informed = 1 - e - d
    spread = 1.96 * np.sqrt(np.einsum("ai,aij,aj->a", slope, covariance, slope))
    number = np.stack([counts[0][1], counts[1][1]], axis=1) * slope  # (A, 2) of the wrong answers by the logits
    variance = float(np.einsum("ai,aij,aj->", number, covariance, number)) / max(len(told.same), 1) ** 2
    says_same = told.per_annotator((told.same > 0.5).astype(np.float64))
    n_answers = np.bincount(told.who, minlength=told.n_annotators)
    rates = Rates(
        annotators=annotators,
        n_answers=n_answers,
        false_different=e,
        false_same=d,
        false_different_interval=share_interval(e, covariance[:, 0, 0] * slope[:, 0] ** 2),
        false_same_interval=share_interval(d, covariance[:, 1, 1] * slope[:, 1] ** 2),
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


def _counts(told: Told, same: Floats, e: Floats, d: Floats) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
    """For each annotator the expected wrong answers and chances to give one, of same pairs and of different ones.

    A soft answer y is the mixture of saying "same", y, and "different", 1 - y: which of the two is inferred as well.
    """
    e, d, y = e[told.who], d[told.who], told.same
    says_different = (1 - y) * e / np.maximum(y * (1 - e) + (1 - y) * e, 1e-300)  # if the pair is the same
    says_same = y * d / np.maximum(y * d + (1 - y) * (1 - d), 1e-300)  # if it is different
    if_same, if_different = told.weight * same, told.weight * (1 - same)
    return (
        (told.per_annotator(if_same * says_different), told.per_annotator(if_same)),
        (told.per_annotator(if_different * says_same), told.per_annotator(if_different)),
    )


def _shrunk(wrong: Floats, chances: Floats) -> tuple[Floats, Floats]:
    """The Beta posterior of each annotator's rate; its prior is made of the others, so nothing is counted twice."""
    others = chances.sum() - chances + PRIOR_ANSWERS
    mean = (wrong.sum() - wrong + PRIOR_WRONG) / others
    fits = []
    for strength in STRENGTHS:
        size = 1 / (1 / strength + 1 / others)
        a, b = mean * size, (1 - mean) * size
        evidence = float((betaln(a + wrong, b + chances - wrong) - betaln(a, b)).sum())
        fits.append(evidence - ((np.log(strength) - USUAL_STRENGTH) / SPREAD) ** 2 / 2)
    size = 1 / (1 / STRENGTHS[int(np.argmax(fits))] + 1 / others)
    return mean * size + wrong, (1 - mean) * size + chances - wrong


def _mean(a: Floats, b: Floats) -> Floats:
    return np.asarray((a / (a + b)).clip(CERTAIN, 1 - CERTAIN))
