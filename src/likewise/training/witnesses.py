"""How much each annotator's answers count, before any network is taught: by the groups of the items.

Two items in one group are of one class with probability a, two in different groups with probability b. So annotator r,
who calls a pair of one class different at the rate e_r and one of two classes the same at the rate d_r, says "same"

    within groups     a (1 - e_r) + (1 - a) d_r
    between groups    b (1 - e_r) + (1 - b) d_r

The groups are the same for all annotators. Neither a nor b is known: it is assumed that those who are confirmed best
are wrong equally often both ways, at the rate at which the groups deny them. The same two equations then give the rates
of all others: about e + d = 1 for one who guesses, and more for one who answers the wrong way round.

Some know a part of the classes and take the others for these, always in the same way. Then an annotator has no two
rates: what counts is how often r says "same" of an item of group a and one of group b,

    B_rab,      1 - e = (B_raa + B_rbb) / 2,      d = B_rab, or the mean over other groups where a = b

It is used for those of whom it foretells answers better than two rates do, each answer from the others. Their answers
merge what they take for one: then groups are first made without any answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.linkage import LEAST_WRONG, Odds
from likewise.pairs import Pairs
from likewise.pairs.rates import AnswersByAnnotator, estimate, log_odds

MOST_WRONG = 0.4
LOCALLY_WRONG = 0.05  # of answers that count fully, where rates are by pairs of groups
LEAST_ANSWERS = 200  # of an annotator, fewer of which do not show such rates
PRIOR = 10.0  # answers that the two rates of an annotator are worth
CHANCE = 4.0  # standard errors by which answers must be foretold better: two rates are the rule
ALIKE = 0.8  # the least credit at which annotators are taken to be alike


def answers_one_by_one(pairs: Pairs, n_items: int, n_classes: int) -> tuple[Odds, AnswersByAnnotator]:
    """Every answer for itself, with who gave it; `pairs` has several annotators."""
    rows = np.flatnonzero((pairs.left != pairs.right) & (pairs.weight > 0) & (pairs.same != 0.5))
    answers = AnswersByAnnotator.of(pairs, rows)
    ends = np.stack([pairs.left[rows], pairs.right[rows]], axis=1)
    credit = np.clip(answers.weight * (2 * answers.same - 1), -1, 1)
    return Odds(n_items, ends, credit, n_classes), answers


def weighed(
    odds: Odds, answers: AnswersByAnnotator, together: NDArray[np.bool_], groups: Ints | None = None
) -> Odds | None:
    """The answers, each with the credit of who gave it; None where all are about as credible.

    `together` (m,) says whether the two items of each answer are in one group that was made without it, and `groups`
    (n,) has the groups of the items. Credit is the answer's log-odds in terms of those of the best annotators: 0 for a
    guess, below 0 for what is the wrong way round.
    """
    rates, wrong = rates_by_groups(answers, together)
    odds_of = log_odds(answers, *rates)
    if groups is not None:
        local, known = odds_by_pairs_of_groups(answers, groups[odds.ends], odds.n_classes)
        odds_of = np.where(known, local, odds_of)
        wrong = LOCALLY_WRONG if known.any() else wrong
    usual = np.log((1 - wrong) / wrong)
    credit = np.clip(odds_of / usual, -1, 1)
    if (np.abs(credit - odds.credit) < 1 - ALIKE).all():
        return None
    return replace(odds, credit=credit)


def odds_by_pairs_of_groups(answers: AnswersByAnnotator, ends: Ints, n_groups: int) -> tuple[Floats, NDArray[np.bool_]]:
    """(m,) The log-odds of the answers by B, for items of these groups (m, 2), and for which of them it is known.

    Groups that hold two classes, or halves of one, are alike for all annotators: B must foretell answers better than
    the B of all others does, and better than two rates.
    """
    a, b = np.sort(ends, axis=1).T
    cell, within = a * n_groups + b, (a == b).astype(np.int64)
    local, known = np.zeros(len(a)), np.zeros(len(a), dtype=np.bool_)
    same, every = _counted(answers, cell, n_groups**2)
    for annotator in np.flatnonzero(answers.per_annotator(np.ones(len(a))) >= LEAST_ANSWERS):
        mine = np.flatnonzero(answers.who == annotator)
        own = AnswersByAnnotator(answers.same[mine], answers.weight[mine], np.arange(len(mine)), len(mine))
        at, inside = cell[mine], within[mine]
        own_same, own_every = _counted(own, at, n_groups**2)
        usual = (np.bincount(inside, own.weight * own.same, 2) + 0.5) / (np.bincount(inside, own.weight, 2) + 1)
        expected = np.full(n_groups**2, usual[0])  # between groups
        expected[:: n_groups + 1] = usual[1]  # within
        table = (own_same + PRIOR * expected) / (own_every + PRIOR)
        without = (own_same[at] - own.weight * own.same + PRIOR * expected[at]) / (own_every[at] - own.weight + PRIOR)
        of_others = (same - own_same + PRIOR * expected) / (every - own_every + PRIOR)
        likely = [
            own.weight * np.log(own.same * p + (1 - own.same) * (1 - p)) for p in (without, of_others[at], expected[at])
        ]
        gain = likely[0] - max(likely[1:], key=np.sum)
        if gain.sum() < CHANCE * np.sqrt((gain**2).sum()):
            continue
        square = table.reshape(n_groups, n_groups)
        square = np.triu(square) + np.triu(square, 1).T
        elsewhere = (square.sum(1) - np.diag(square)) / max(n_groups - 1, 1)
        e = 1 - (np.diag(square)[a[mine]] + np.diag(square)[b[mine]]) / 2
        d = np.where(inside == 1, elsewhere[a[mine]], square[a[mine], b[mine]])
        local[mine] = log_odds(own, *(np.clip(rate, LEAST_WRONG, 1 - LEAST_WRONG) for rate in (e, d)))
        known[mine] = True
    return local, known


def takes_classes_for_others(answers: AnswersByAnnotator, ends: Ints, n_groups: int) -> bool:
    """Whether some annotator does, in their own way, for items of these groups (m, 2)."""
    return bool(odds_by_pairs_of_groups(answers, ends, n_groups)[1].any())


def _counted(answers: AnswersByAnnotator, cell: Ints, n_cells: int) -> tuple[Floats, Floats]:
    """How many answers of each cell say "same", and how many there are."""
    same, every = (
        np.bincount(cell, values, minlength=n_cells) for values in (answers.weight * answers.same, answers.weight)
    )
    return same.astype(np.float64), every.astype(np.float64)


def rates_by_groups(answers: AnswersByAnnotator, together: NDArray[np.bool_]) -> tuple[tuple[Floats, Floats], float]:
    """The rates (A,) of each annotator, and that of the best both ways."""
    within = together.astype(np.float64)
    flat = np.full(answers.n_annotators, 0.1)
    e, d = estimate(answers, within, *estimate(answers, within, flat, flat))  # as if groups were classes
    says_same = answers.same > 0.5
    denied = answers.per_annotator(answers.weight * (says_same != together))
    number = answers.per_annotator(answers.weight)
    borne_out = number * np.maximum(1 - e - d, 0) ** 2
    best = borne_out / max(borne_out.sum(), 1e-12)
    share = float((best * denied / np.maximum(number, 1e-12)).sum())
    wrong = min(max(share, LEAST_WRONG), MOST_WRONG)
    a = float((best @ (1 - e) - wrong) / (1 - 2 * wrong))
    b = float((best @ d - wrong) / (1 - 2 * wrong))
    a, b = min(max(a, 0.0), 1.0), min(max(b, 0.0), 1.0)
    if a - b < 0.1:  # the groups do not show the classes
        return (np.full(answers.n_annotators, wrong), np.full(answers.n_annotators, wrong)), wrong
    false_different = 1 - ((1 - b) * (1 - e) - (1 - a) * d) / (a - b)
    false_same = (a * d - b * (1 - e)) / (a - b)
    least, most = LEAST_WRONG, 1 - LEAST_WRONG
    return (np.clip(false_different, least, most), np.clip(false_same, least, most)), wrong
