"""All answers judged together: how likely each is right, and how often each annotator is wrong.

Item i has a class z_i. Annotator r calls a pair of one class different with probability e_r, and a pair of two classes
the same with probability d_r. So transitivity is evidence and not law: of a = b, b = c and a != c the least credible
gives way, by odds. Expectation-maximisation repeats

    P(same) of every answered pair, given all answers and the rates      groupings.py, or memberships.py with classes
    the rates of every annotator, given P(same) of the pairs answered    rates.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from scipy.stats import binom

from likewise.errors import InputError
from likewise.pairs.enumeration import Couplings
from likewise.pairs.groupings import Groupings
from likewise.pairs.memberships import Memberships, PairByPair
from likewise.pairs.pair_keys import pair_keys, pairs_of
from likewise.pairs.rates import (
    NOTHING_HIDDEN,
    PRIOR_ANSWERS,
    PRIOR_WRONG,
    AnswersByAnnotator,
    Rates,
    estimate,
    hidden_errors,
    log_odds,
    share_interval,
    summarise_rates,
)

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS, CHANGE = 40, 1e-4  # the most estimates of the rates, and their mean change at which these end
SAMPLED_STEPS = 40  # likewise, where samples stand for the posterior: they never stand still
NEVER = 1e-9  # how near to 0 and 1 a probability may come where its odds are taken
FORETOLD = 0.1  # the least part of the surprise at answers that the others must take away
GOES_WITH = 3.0  # standard errors by which untaught answers must go with what is foretold
SURE_OUTLIER = 0.01  # for all items together: how likely one is called an outlier by chance


@dataclass(frozen=True, eq=False, repr=False)
class Posterior:
    """What all answers say together; see `Pairs.posterior`.

    >>> from likewise.pairs import Pairs
    >>> pairs = Pairs.from_arrays([("a", "b"), ("b", "c"), ("a", "c")], [1, 1, 0], weight=[3, 2, 1])
    >>> posterior = pairs.posterior(n_classes=3, rates=(0.1, 0.1))
    >>> posterior.least_credible(1)  # a = b and b = c weigh more than a != c
    array([2])
    """

    pairs: Pairs
    same: Floats  # (m,) the probability that the two items of each answer are the same
    right: Floats  # (m,) that the answer is right; 0.5 for one that says neither
    rates: Rates  # of each annotator
    share_wrong: float  # of the answers
    share_wrong_interval: tuple[float, float]  # of 95 %
    supported: bool  # whether answers are confirmed by others, or by the given classes; if not, the rates are a guess
    n_redundant: int  # answers beyond those that a forest of them needs: only these can contradict others
    n_classes: int
    classes: Floats | None  # (n, K) the probability of each item's class, where unary terms were given
    outside: Floats | None  # (n,) and that it is in none of them
    exact: bool  # whether all is exact given the rates; else belief propagation or samples
    converged: bool  # whether belief propagation came to an end; mean field took its place if not
    model: Groupings | Memberships | PairByPair
    items: Ints  # the items that the model knows, in order

    def __repr__(self) -> str:
        low, high = self.share_wrong_interval
        share = f"{100 * self.share_wrong:.0f} % wrong ({100 * low:.0f} to {100 * high:.0f})"
        return f"Posterior({len(self.pairs):,} answers, {share})"

    def probability_same(self, i: ArrayLike, j: ArrayLike) -> Floats:
        """The probability that items i and j are the same, one by one, asked about or not.

        >>> from likewise.pairs import Pairs
        >>> sure = Pairs.from_arrays([(0, 1), (1, 2)], [1, 1]).posterior(n_classes=4, rates=(0.001, 0.001))
        >>> sure.probability_same([0, 0], [2, 5]).round(2)  # 0 = 1 and 1 = 2; nobody was asked about 5
        array([0.99, 0.25])
        """
        i, j = np.broadcast_arrays(np.atleast_1d(i).astype(np.int64), np.atleast_1d(j).astype(np.int64))
        a, b = (np.searchsorted(self.items, side).clip(max=max(len(self.items) - 1, 0)) for side in (i, j))
        same = np.where(i == j, 1.0, 1 / self.n_classes)
        if not len(self.items):
            return same
        known = (self.items[a] == i) & (self.items[b] == j) & (i != j)
        a, b, couplings = a[known], b[known], self.model.couplings
        result = self.model.between(a, b)
        if len(couplings.i):
            coupled = pair_keys(couplings.i, couplings.j, couplings.n)  # sorted
            wanted = pair_keys(a, b, couplings.n)
            place = np.searchsorted(coupled, wanted).clip(max=len(coupled) - 1)
            result = np.where(coupled[place] == wanted, self.model.same[place], result)
        same[known] = result
        return same

    def least_credible(self, limit: int | None = None) -> Ints:
        """The rows of the answers that are more likely wrong than right, the least credible first.

        >>> from likewise.pairs import Pairs
        >>> pairs = Pairs.from_arrays([(0, 1), (1, 2), (0, 2)], [1, 1, 0], weight=[3, 2, 1])
        >>> pairs.posterior().least_credible()
        array([2])
        """
        return least_credible(self.right, limit)

    def outliers(self) -> Ints:
        """Items that fit no class, the worst first.

        Either they are more likely outside all classes than in one, or far more of the answers about them are wrong
        than their annotators' rates explain: they may belong to two classes.
        """
        pairs, n = self.pairs, self.pairs.n_items
        rows = np.flatnonzero((pairs.weight > 0) & (pairs.same != 0.5) & (pairs.left != pairs.right))
        who = np.zeros(len(pairs), dtype=np.int64) if pairs.annotator is None else pairs.annotator
        p, r = self.same[rows], who[rows]
        usual = p * self.rates.false_different[r] + (1 - p) * self.rates.false_same[r]
        both = np.concatenate([pairs.left[rows], pairs.right[rows]])
        items, place = np.unique(both, return_inverse=True)
        number, wrong, expected = (
            np.bincount(place, np.tile(values, 2), minlength=len(items))
            for values in (np.ones(len(rows)), 1 - self.right[rows], usual)
        )
        chance = binom.sf(np.floor(wrong + 0.5) - 1, number, expected / np.maximum(number, 1))
        doubt = np.zeros(n)
        doubt[items] = np.where(chance < SURE_OUTLIER / max(len(items), 1), wrong / np.maximum(number, 1), 0)
        if self.outside is not None:
            doubt = np.maximum(doubt, np.where(self.outside > 0.5, self.outside, 0))
        order = np.argsort(-doubt, kind="stable")
        return order[: int((doubt > 0).sum())]


def least_credible(right: Floats, limit: int | None = None) -> Ints:
    """The rows whose probability (m,) of being right is below 1/2, the lowest first."""
    return np.argsort(right, kind="stable")[: int((right < 0.5).sum())][:limit]


def infer(
    pairs: Pairs,
    n_classes: int | None,
    unary: ArrayLike | None,
    neighbours: tuple[ArrayLike, ArrayLike] | None,
    rates: tuple[float, float] | None,
    outside: float,
    random_state: int | np.random.Generator = 0,
    *,
    joint: bool = True,
    untaught: NDArray[np.bool_] | None = None,
) -> Posterior:
    """The posterior of `Pairs.posterior`, with its arguments.

    Without `joint` each pair is judged alone, by its own answers and its unary terms. Where these come from a
    classifier that was taught some of the answers, `untaught` (m,) says which others tell whether it foretells them,
    and how many wrong answers it has learned.
    """
    terms = _unary(pairs, unary, n_classes)
    near, near_odds = _neighbours(pairs, neighbours)
    if not 0 <= outside < 1:
        raise InputError(f"outside is {outside}; give the share of items in no class, from 0 to below 1.")
    rows = np.flatnonzero((pairs.weight > 0) & (pairs.same != 0.5) & (pairs.left != pairs.right))
    answers = AnswersByAnnotator.of(pairs, rows)
    left, right = (np.concatenate(side) for side in ((pairs.left[rows], near[:, 0]), (pairs.right[rows], near[:, 1])))
    items = np.unique(np.concatenate([left, right])) if terms is None else np.arange(pairs.n_items)
    i, j, n = np.searchsorted(items, left), np.searchsorted(items, right), len(items)
    pair, edge = np.unique(pair_keys(i, j, n), return_inverse=True)
    couplings = Couplings(*pairs_of(pair, n), n)
    edge, near_edge = edge[: len(rows)], edge[len(rows) :]
    fixed = np.bincount(near_edge, near_odds, minlength=len(pair)).astype(np.float64)

    random = np.random.default_rng(random_state)
    model: Groupings | Memberships | PairByPair
    if terms is not None:
        model = (Memberships if joint else PairByPair)(couplings, terms, outside)
        fit = _fit(model, answers, edge, fixed, rates)
    else:
        model = Groupings(couplings, n_classes, random)
        fit = _fit(model, answers, edge, fixed, rates)
        if n_classes is None and model.needed > model.n_classes:
            larger = Groupings(couplings, model.needed, random)
            with_more = _fit(larger, answers, edge, fixed, rates)
            if with_more.gain.sum() > fit.gain.sum():
                model, fit = larger, with_more
    same, e, d = fit.same, fit.false_different, fit.false_same

    hidden = NOTHING_HIDDEN
    if untaught is not None:
        chosen = untaught[rows]
        hidden = hidden_errors(answers.select(chosen), fit.without[chosen], e, d)
    annotator_rates, variance = summarise_rates(answers, pairs.annotators or ("",), same, e, d, hidden)
    wrong = np.where(answers.same > 0.5, 1 - same, same)
    variance += float((wrong * (1 - wrong)).sum()) / max(len(rows), 1) ** 2
    share = float(wrong.mean()) if len(rows) else PRIOR_WRONG / PRIOR_ANSWERS
    share += float(hidden.added @ [same.mean(), 1 - same.mean()]) if len(rows) else 0.0
    low, high = share_interval(np.array(share), np.array(variance if len(rows) else 1.0))
    result = Posterior(
        pairs=pairs,
        same=np.empty(len(pairs)),
        right=np.empty(len(pairs)),
        rates=annotator_rates,
        share_wrong=share,
        share_wrong_interval=(float(low), float(high)),
        supported=_supported(fit, answers, None if untaught is None else untaught[rows]),
        n_redundant=len(rows) - (n - couplings.n_components),
        n_classes=model.n_classes,
        classes=None if isinstance(model, Groupings) else model.classes[:, :-1],
        outside=None if isinstance(model, Groupings) else model.classes[:, -1],
        exact=model.exact,
        converged=model.converged,
        model=model,
        items=items,
    )
    result.same[rows] = same
    others = np.setdiff1d(np.arange(len(pairs)), rows)
    result.same[others] = result.probability_same(pairs.left[others], pairs.right[others])
    result.right[:] = np.select([pairs.same > 0.5, pairs.same < 0.5], [result.same, 1 - result.same], 0.5)
    return result


class Fit(NamedTuple):
    """What expectation-maximisation found."""

    same: Floats  # (m,) of the pair of each answer
    false_different: Floats  # (A,)
    false_same: Floats  # (A,)
    without: Floats  # (m,) likewise, by all but the answer itself
    gain: Floats  # (m,) how much better all other answers foretell this one than its annotator's habit, in nats
    surprise: Floats  # (m,) at the answer, knowing its annotator's habit alone
    foretold: Floats  # (m,) how likely all others made it that this one says "same"
    habit: Floats  # (m,) how often its annotator says so


def _fit(
    model: Groupings | Memberships | PairByPair,
    answers: AnswersByAnnotator,
    edge: Ints,
    fixed: Floats,
    rates: tuple[float, float] | None,
) -> Fit:
    """Estimate the rates unless they are given; `edge` is the coupling of each answer, `fixed` what else it has."""
    e, d = _start(rates, answers.n_annotators)
    most_steps = STEPS if model.deterministic else SAMPLED_STEPS
    for step in range(most_steps if rates is None else 0):
        odds = log_odds(answers, e, d)
        same = model.update(fixed + np.bincount(edge, odds, minlength=len(fixed)))[edge]
        before = e, d
        e, d = estimate(answers, same, e, d)
        change = np.abs(e - before[0]) + np.abs(d - before[1])
        if step and float((change * answers.per_annotator(answers.weight)).sum()) < CHANGE * float(
            answers.weight.sum()
        ):
            break
    odds = log_odds(answers, e, d)
    same = model.update(fixed + np.bincount(edge, odds, minlength=len(fixed)), last=True)[edge]

    without = expit(logit(same.clip(NEVER, 1 - NEVER)) - odds)
    foretold = without * (1 - e[answers.who]) + (1 - without) * d[answers.who]
    habit = (answers.per_annotator(answers.same) + 0.5) / (answers.per_annotator(np.ones(len(answers.same))) + 1)
    usual, says = habit[answers.who], answers.same > 0.5
    surprise = -np.log(np.where(says, usual, 1 - usual))
    gain = np.log(np.where(says, foretold, 1 - foretold)) + surprise
    return Fit(same, e, d, without, gain, surprise, foretold, usual)


def _supported(fit: Fit, answers: AnswersByAnnotator, untaught: NDArray[np.bool_] | None) -> bool:
    """Whether other answers foretell each answer: by more than chance, and by enough to tell which ones are wrong.

    Below FORETOLD many numbers of classes and rates explain the answers equally well, and those found are a guess. A
    classifier leaves no such choice: there it is enough that answers which it was not taught go with what it foretells,
    as they would not if they were dealt out again.
    """
    if untaught is None:
        gain = float(fit.gain.sum())
        return gain > max(2 * float(np.sqrt((fit.gain**2).sum())), FORETOLD * float(fit.surprise.sum()))
    leaning = ((answers.same > 0.5) - fit.habit)[untaught]
    foretold = logit(fit.foretold[untaught].clip(NEVER, 1 - NEVER))
    foretold -= foretold.mean()
    spread = float(np.sqrt((leaning @ leaning) * (foretold @ foretold) / len(leaning)))
    return float(leaning @ foretold) > GOES_WITH * spread


def _start(rates: tuple[float, float] | None, n: int) -> tuple[Floats, Floats]:
    first_rates = (PRIOR_WRONG / PRIOR_ANSWERS,) * 2 if rates is None else tuple(rates)
    if len(first_rates) != 2 or not all(0 < rate < 1 for rate in first_rates):
        raise InputError(f"rates is {rates}; give the rates of false different and false same, each between 0 and 1.")
    return np.full(n, float(first_rates[0])), np.full(n, float(first_rates[1]))


def _unary(pairs: Pairs, unary: ArrayLike | None, n_classes: int | None) -> Floats | None:
    if n_classes is not None and n_classes < 1:
        raise InputError(f"n_classes is {n_classes}; give 1 or more.")
    if unary is None:
        return None
    terms = np.asarray(unary, dtype=np.float64)
    if terms.ndim != 2 or len(terms) != pairs.n_items or terms.shape[1] < 1:
        raise InputError(
            f"unary has shape {terms.shape}; give log-probabilities (n, K) for all {pairs.n_items} items and K classes."
        )
    if n_classes is not None and n_classes != terms.shape[1]:
        raise InputError(f"n_classes is {n_classes}, but unary has {terms.shape[1]} columns; leave n_classes out.")
    if np.isnan(terms).any() or (terms == np.inf).any() or (terms == -np.inf).all(axis=1).any():
        row = int(
            np.argmax(np.isnan(terms).any(axis=1) | (terms.max(axis=1) == np.inf) | (terms.max(axis=1) == -np.inf))
        )
        raise InputError(f"unary has no log-probabilities in row {row}: {terms[row].tolist()}.")
    return terms


def _neighbours(pairs: Pairs, neighbours: tuple[ArrayLike, ArrayLike] | None) -> tuple[Ints, Floats]:
    if neighbours is None:
        return np.empty((0, 2), dtype=np.int64), np.empty(0)
    index, odds = np.asarray(neighbours[0]), np.asarray(neighbours[1], dtype=np.float64)
    if index.ndim != 2 or index.shape[1] != 2 or odds.shape != (len(index),) or index.dtype.kind not in "iu":
        raise InputError(
            f"neighbours has pairs of shape {index.shape} and log-odds of shape {odds.shape}; give (p, 2) and (p,)."
        )
    if not np.isfinite(odds).all() or (len(index) and not (index.min() >= 0 and index.max() < pairs.n_items)):
        raise InputError(f"neighbours must be positions below {pairs.n_items} with finite log-odds.")
    other = index[:, 0] != index[:, 1]
    return index[other].astype(np.int64), odds[other]
