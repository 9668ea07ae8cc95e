"""Several annotators: how far they agree, how reliable each is (Dawid and Skene), and who answers at random.

Of soft answers some may be random numbers, as of one who moves a slider anywhere. One who means an answer is mostly
sure, so the answers y crowd near 0 and 1. Random numbers lie everywhere alike. With h the density of all answers of an
annotator, the share r of random ones is at most the least of h, and

    P(random | y) = r / h(y)

In the middle nearly all may be random: these answers say nothing, however they are weighted. What is left is near 0 and
1, and wrong far more seldom. Hard answers have no density in the middle, so r = 0 and they stay as they are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.special import entr, expit

from likewise.errors import InputError
from likewise.pairs.pair_keys import pair_keys

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """For each two annotators; NaN where they share no pair, and kappa also where chance would always agree.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> from likewise.pairs import agreement
    >>> agreement(pairs).shared[0, 1]  # pairs that both answered
    np.int64(2)
    """

    annotators: tuple[str, ...]
    shared: Ints  # (A, A) pairs that both answered
    rate: Floats  # (A, A) share of these with the same answer
    kappa: Floats  # (A, A) Cohen's: the part of the way from chance to full agreement

    def with_others(self) -> Floats:
        """(A,) The kappa of each annotator with the others, each counted by the pairs that they share."""
        shared = np.where(np.isnan(self.kappa) | np.eye(len(self.kappa), dtype=np.bool_), 0, self.shared)
        total = shared.sum(axis=1)
        return np.asarray((np.nan_to_num(self.kappa) * shared).sum(axis=1) / np.where(total > 0, total, np.nan))


def agreement(pairs: Pairs) -> Agreement:
    """How far each two annotators agree; one who answered a pair more than once counts with the mean.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> float(agreement(Pairs.from_frame(answers)).rate[0, 1])
    0.5
    """
    pairs = counted(pairs)
    annotator, place, first = answered(pairs)
    n, shape = len(pairs.annotators), (len(pairs.annotators), len(first))
    who, inverse = np.unique(place * n + annotator, return_inverse=True)
    mean = np.bincount(inverse, pairs.same) / np.bincount(inverse)
    at = (who % n, who // n)
    same, different = (coo_array((values.astype(np.int64), at), shape).tocsr() for values in (mean > 0.5, mean < 0.5))
    either = same + different
    shared = (either @ either.T).toarray()  # (A, A)
    says_same = (same @ either.T).toarray()  # [a, b]: how often a says so of pairs that b answered too
    with np.errstate(invalid="ignore"):  # nothing shared
        rate = (same @ same.T + different @ different.T).toarray() / shared
        share, other = says_same / shared, says_same.T / shared
        chance = share * other + (1 - share) * (1 - other)
        kappa = (rate - chance) / np.where(chance < 1, 1 - chance, np.nan)
    return Agreement(pairs.annotators, shared, rate, kappa)


def disagreements(pairs: Pairs) -> Pairs:
    """The answers about pairs that some call the same and others different, those about one pair side by side.

    >>> from likewise.pairs import Pairs
    >>> answers = {"left": [0, 0, 1, 1], "right": [1, 1, 2, 2], "same": [1, 1, 0, 1], "annotator": [*"abab"]}
    >>> pairs = Pairs.from_frame(answers)
    >>> disagreements(pairs).annotator
    array([0, 1], dtype=int32)
    """
    pairs = counted(pairs)
    _, place, first = answered(pairs)
    says_same = np.bincount(place[pairs.same > 0.5], minlength=len(first)) > 0
    says_different = np.bincount(place[pairs.same < 0.5], minlength=len(first)) > 0
    rows = np.flatnonzero((says_same & says_different)[place])
    return pairs.select(rows[np.lexsort((rows, first[place[rows]]))])


def counted(pairs: Pairs) -> Pairs:
    """The answers with a weight above 0; the others count as not given."""
    return pairs if (pairs.weight > 0).all() else pairs.select(pairs.weight > 0)


def answered(pairs: Pairs) -> tuple[NDArray[np.int32], Ints, Ints]:
    """The annotator of each row, the pair it is about, and the first row of each such pair."""
    if not len(pairs):
        raise InputError("There are no answers, or all have weight 0 and count as not given; give some.")
    if pairs.annotator is None:
        raise InputError("These answers do not say who gave them; add a column annotator.")
    _, first, place = np.unique(
        pair_keys(pairs.left, pairs.right, pairs.n_items), return_index=True, return_inverse=True
    )
    return pairs.annotator, place, first


# How reliable each of several annotators is, and their answers merged into one for each pair.
#
# The model is that of Dawid and Skene (1979) on same/different. A pair is the same with probability pi; annotator a
# says "same" of a pair that is the same with probability alpha_a (the sensitivity), and "different" of one that is
# different with probability beta_a (the specificity). For an answer y in [0, 1] of weight w, expectation-maximisation
# repeats
#
#     log p(same) = log pi       + sum w (y log alpha_a + (1 - y) log(1 - alpha_a))    over the answers about the pair
#     log p(diff) = log (1 - pi) + sum w (y log(1 - beta_a) + (1 - y) log beta_a)
#     posterior q = p(same) / (p(same) + p(diff))
#
#     alpha_a = sum w q y / sum w q,   beta_a = sum w (1 - q)(1 - y) / sum w (1 - q),   pi = mean q
#
# with a few answers of a fair annotator added to the sums, so that nobody is perfect after three answers. Pairs that
# have the same answers by the same annotators are one pattern, and there are few of these however many the pairs.


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
    >>> result = reliability(pairs)
    >>> result.posterior[0] > result.posterior[1]  # both call the first pair the same, one of them the second
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
        """One answer per pair: `same` is the probability given all answers, `weight` the information that they hold.

        That is 1 bit less the entropy of `same`: 1 for a pair that is certain, near 0 for one that could be either.
        """
        same = self.posterior
        information = 1 - (entr(same) + entr(1 - same)) / np.log(2)
        return replace(
            self.pairs.select(self.first),
            same=same.astype(np.float32),
            weight=information.clip(0, 1).astype(np.float32),
            annotator=None,
            annotators=(),
        )


class Patterns(NamedTuple):
    """The answers of one pair for each pattern, how many pairs have it, and the pattern of each pair."""

    annotator: NDArray[np.int32]  # of each answer
    values: Floats
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
    who, same, weight, pattern, times, pattern_of_pair = _patterns(pairs, annotator, place)

    def rates(q: Floats) -> Floats:
        """Sensitivity and specificity of each annotator, (2, A), given how likely each answer's pair is the same."""
        hits = [_sum(who, q * same, n), _sum(who, (weight * times[pattern] - q) * (1 - same), n)]
        chances = [_sum(who, q, n), _sum(who, weight * times[pattern] - q, n)]
        with np.errstate(invalid="ignore"):  # an annotator who never met a kind, without a prior
            share = (np.array(hits) + right) / (np.array(chances) + right + wrong)
        return np.where(np.isnan(share), 0.5, share).clip(CERTAIN, 1 - CERTAIN)

    posterior = _sum(pattern, weight * same, len(times)) / np.maximum(_sum(pattern, weight, len(times)), CERTAIN)
    before, history = np.zeros((2, n)), []
    for _ in range(STEPS):
        rate = rates(weight * times[pattern] * posterior[pattern])
        pi = np.clip(((times * posterior).sum() + wrong) / (len(first) + 2 * wrong), CERTAIN, 1 - CERTAIN)
        (alpha, beta), (not_alpha, not_beta) = np.log(rate), np.log1p(-rate)
        if_same = weight * (same * alpha[who] + (1 - same) * not_alpha[who])
        if_different = weight * (same * not_beta[who] + (1 - same) * beta[who])
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
    values, weight = (np.unique(column, return_inverse=True)[1] for column in (pairs.same, pairs.weight))
    value = values * (weight.max() + 1) + weight
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
        values=pairs.same[rows].astype(np.float64),
        weight=pairs.weight[rows].astype(np.float64),
        pattern=pattern_of_example[place[rows]],
        times=times.astype(np.float64),
        pattern_of_pair=pattern_of_pair,
    )


def _sum(index: Ints | NDArray[np.int32], values: Floats, size: int) -> Floats:
    return np.bincount(index, values, minlength=size).astype(np.float64)


PLACES = 20  # in which answers are counted
ENDS = np.array([0.001, 0.01, 0.03])  # the first and the last place are divided here
LEAST_ANSWERS = 200  # of an annotator, fewer of which show no density
MOST_RANDOM = 0.5  # answers that are spread more evenly than this have a meaning that is not known here
DOUBT = 0.3  # P(random) above which an answer is not used


def without_random_numbers(pairs: Pairs) -> Pairs:
    """The same answers; those that may well be random numbers have weight 0, with a warning that says how many.

    >>> from likewise.pairs import Pairs
    >>> random = np.random.default_rng(0)
    >>> values = np.concatenate([random.random(300), np.repeat([0.001, 0.999], 350)])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     kept = without_random_numbers(Pairs.from_arrays([(i, i + 1) for i in range(1000)], values))
    >>> int((kept.weight[:300] > 0).sum()), int((kept.weight[300:] > 0).sum())
    (4, 700)
    """
    who = np.zeros(len(pairs), dtype=np.int32) if pairs.annotator is None else pairs.annotator
    doubtful = np.zeros(len(pairs), dtype=np.bool_)
    soft = (pairs.same > 0) & (pairs.same < 1) & (pairs.weight > 0)
    for annotator in np.unique(who[soft]):
        own = np.flatnonzero((who == annotator) & (pairs.weight > 0))
        share, p_random = random_share(pairs.same[own].astype(np.float64))
        if len(own) >= LEAST_ANSWERS and share <= MOST_RANDOM:
            doubtful[own] = soft[own] & (p_random > DOUBT)
    if not doubtful.any():
        return pairs
    warnings.warn(
        f"Some of the soft answers look like random numbers, spread evenly from 0 to 1: {int(doubtful.sum()):,} of "
        f"{len(pairs):,} answers may be such and are not used.",
        stacklevel=5,
    )
    return replace(pairs, weight=np.where(doubtful, np.float32(0), pairs.weight))


def random_share(same: Floats) -> tuple[float, Floats]:
    """r, and P(random | y) of each answer.

    r is the mean density of the emptier half of all places: the least alone would be too low by chance.
    """
    edges = np.linspace(0, 1, PLACES + 1)
    density = np.histogram(same, edges)[0] * PLACES / max(len(same), 1)
    share = min(float(np.sort(density)[: PLACES // 2].mean()), 1.0)
    edges = np.concatenate([[0.0], ENDS, edges[1:-1], 1 - ENDS[::-1], [1.0]])
    counts = np.histogram(same, edges)[0]
    width = np.diff(edges)
    place = np.searchsorted(edges, same, side="right").clip(1, len(width)) - 1
    return share, np.minimum(share * len(same) * width[place] / np.maximum(counts[place], 1), 1.0)
