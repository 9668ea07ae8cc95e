"""How reliable each of several annotators is, and their answers merged into one for each pair.

The model is that of Dawid and Skene (1979) on same/different. A pair is the same with probability pi; annotator a says
"same" of a pair that is the same with probability alpha_a (the sensitivity), and "different" of one that is different
with probability beta_a (the specificity). For an answer y in [0, 1] of weight w, expectation-maximisation repeats

    log p(same) = log pi       + sum w (y log alpha_a + (1 - y) log(1 - alpha_a))    over the answers about the pair
    log p(diff) = log (1 - pi) + sum w (y log(1 - beta_a) + (1 - y) log beta_a)
    posterior q = p(same) / (p(same) + p(diff))

    alpha_a = sum w q y / sum w q,   beta_a = sum w (1 - q)(1 - y) / sum w (1 - q),   pi = mean q

with a few answers of a fair annotator added to the sums, so that nobody is perfect after three answers. Pairs that have
the same answers by the same annotators are one pattern, and there are few of these however many the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr, expit

from likewise.pairs.annotators import answered, counted

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RIGHT, WRONG = 2.0, 1.0  # answers added for each annotator and kind; of pairs, WRONG of each kind
CERTAIN = 1e-9  # how near to 0 and 1 a probability may come
STEPS, CHANGE = 1000, 1e-7  # the most steps, and the change of every reliability at which they end


@dataclass(frozen=True, eq=False)
class Reliability:
    """How far each annotator can be trusted, and what they say together.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> from likewise.pairs import reliability
    >>> found = reliability(pairs)
    >>> found.posterior[0] > found.posterior[1]  # both call the first pair the same, one of them the second
    np.True_
    """

    annotators: tuple[str, ...]
    n_answers: Ints  # (A,)
    sensitivity: Floats  # (A,) how often a pair that is the same is called so
    specificity: Floats  # (A,) how often a pair that is different is called so
    share_same: float  # of all pairs
    log_likelihood: tuple[float, ...]  # at each step, with that of the added answers
    first: Ints  # (P,) the row of the first answer about each pair
    posterior: Floats  # (P,) that the pair is the same
    pairs: Pairs

    @property
    def accuracy(self) -> Floats:
        """(A,) How often an answer is right."""
        return self.share_same * self.sensitivity + (1 - self.share_same) * self.specificity

    def merge(self) -> Pairs:
        """One answer a pair: `same` is the probability given all answers, `weight` the information that they hold.

        That is 1 bit less the entropy of `same`: 1 for a pair that is certain, near 0 for one that could be either.
        """
        said = self.posterior
        information = 1 - (entr(said) + entr(1 - said)) / np.log(2)
        return replace(
            self.pairs.select(self.first),
            same=said.astype(np.float32),
            weight=information.clip(0, 1).astype(np.float32),
            annotator=None,
            annotators=(),
        )


class Patterns(NamedTuple):
    """The answers of one pair for each pattern, how many pairs have it, and the pattern of each pair."""

    annotator: NDArray[np.int32]  # of each answer
    said: Floats
    weight: Floats
    pattern: Ints
    times: Floats  # (patterns,)
    pattern_of_pair: Ints  # (P,)


def reliability(pairs: Pairs, prior: float = 1.0) -> Reliability:
    """The reliability of each annotator, by expectation-maximisation; `prior` scales the added answers.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> reliability(pairs).annotators
    ('a', 'b')
    """
    pairs = counted(pairs)
    annotator, place, first = answered(pairs)
    n, right, wrong = len(pairs.annotators), prior * RIGHT, prior * WRONG
    who, said, weight, pattern, times, pattern_of_pair = _patterns(pairs, annotator, place)

    def rates(q: Floats) -> Floats:
        """Sensitivity and specificity of each annotator, (2, A), given how likely each answer's pair is the same."""
        hits = [_sum(who, q * said, n), _sum(who, (weight * times[pattern] - q) * (1 - said), n)]
        chances = [_sum(who, q, n), _sum(who, weight * times[pattern] - q, n)]
        with np.errstate(invalid="ignore"):  # an annotator who never met a kind, without a prior
            share = (np.array(hits) + right) / (np.array(chances) + right + wrong)
        return np.where(np.isnan(share), 0.5, share).clip(CERTAIN, 1 - CERTAIN)

    posterior = _sum(pattern, weight * said, len(times)) / np.maximum(_sum(pattern, weight, len(times)), CERTAIN)
    before, history = np.zeros((2, n)), []
    for _ in range(STEPS):
        rate = rates(weight * times[pattern] * posterior[pattern])
        pi = np.clip(((times * posterior).sum() + wrong) / (len(first) + 2 * wrong), CERTAIN, 1 - CERTAIN)
        (alpha, beta), (not_alpha, not_beta) = np.log(rate), np.log1p(-rate)
        if_same = weight * (said * alpha[who] + (1 - said) * not_alpha[who])
        if_different = weight * (said * not_beta[who] + (1 - said) * beta[who])
        log_same = np.log(pi) + _sum(pattern, if_same, len(times))
        log_different = np.log1p(-pi) + _sum(pattern, if_different, len(times))
        posterior = expit(log_same - log_different)

        added = right * np.log(rate).sum() + wrong * np.log1p(-rate).sum() + wrong * (np.log(pi) + np.log1p(-pi))
        history.append(float((times * np.logaddexp(log_same, log_different)).sum() + added))
        if np.abs(rate - before).max() < CHANGE:
            break
        before = rate
    return Reliability(
        annotators=pairs.annotators,
        n_answers=np.bincount(annotator, minlength=n),
        sensitivity=rate[0],
        specificity=rate[1],
        share_same=float(pi),
        log_likelihood=tuple(history),
        first=first,
        posterior=posterior[pattern_of_pair],
        pairs=pairs,
    )


def _patterns(pairs: Pairs, annotator: NDArray[np.int32], place: Ints) -> Patterns:
    """A random number for each kind of answer; two pairs have the same sum of these if they have the same answers."""
    said, weight = (np.unique(column, return_inverse=True)[1] for column in (pairs.same, pairs.weight))
    value = said * (weight.max() + 1) + weight
    kinds, kind = np.unique(value * len(pairs.annotators) + annotator, return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.flatnonzero(np.diff(place[order], prepend=-1))
    mark = np.random.default_rng(0).integers(2**64, size=len(kinds), dtype=np.uint64)[kind]
    _, example, pattern_of_pair, times = np.unique(
        np.add.reduceat(mark[order], starts), return_index=True, return_inverse=True, return_counts=True
    )
    pattern_of_example = np.full(len(starts), -1)
    pattern_of_example[example] = np.arange(len(example))
    rows = np.flatnonzero(pattern_of_example[place] >= 0)
    return Patterns(
        annotator=annotator[rows],
        said=pairs.same[rows].astype(np.float64),
        weight=pairs.weight[rows].astype(np.float64),
        pattern=pattern_of_example[place[rows]],
        times=times.astype(np.float64),
        pattern_of_pair=pattern_of_pair,
    )


def _sum(index: Ints | NDArray[np.int32], values: Floats, size: int) -> Floats:
    return np.bincount(index, values, minlength=size).astype(np.float64)
