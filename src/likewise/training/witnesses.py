"""How much each annotator's answers count, before any network is taught: by the groups of the items.

Two items in one group are of one class with probability a, two in different groups with probability b. So annotator r,
who calls a pair of one class different at the rate e_r and one of two classes the same at the rate d_r, says "same"

    within groups     a (1 - e_r) + (1 - a) d_r
    between groups    b (1 - e_r) + (1 - b) d_r

The groups are the same for all annotators. What a and b are is not known: it is taken that those who are borne out best
are wrong equally often both ways, at the rate at which the groups deny them. The same two equations then give the rates
of all others: about e + d = 1 for one who guesses, and more for one who answers the wrong way round.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from likewise.clustering.constraints import Floats
from likewise.clustering.joining import LEAST_WRONG, Odds
from likewise.pairs import Pairs
from likewise.pairs.rates import Told, estimate, log_odds

MOST_WRONG = 0.4
ALIKE = 0.8  # the least credit at which annotators are taken to be alike


def answers_one_by_one(pairs: Pairs, n_items: int, n_classes: int) -> tuple[Odds, Told]:
    """Every answer for itself, with who gave it; `pairs` has several annotators."""
    rows = np.flatnonzero((pairs.left != pairs.right) & (pairs.weight > 0) & (pairs.same != 0.5))
    told = Told.of(pairs, rows)
    ends = np.stack([pairs.left[rows], pairs.right[rows]], axis=1)
    credit = np.clip(told.weight * (2 * told.same - 1), -1, 1)
    return Odds(n_items, ends, credit, n_classes), told


def weighed(odds: Odds, told: Told, together: NDArray[np.bool_]) -> Odds | None:
    """The answers, each with the credit of who gave it; None where all are about as credible.

    `together` (m,) says whether the two items of each answer are in one group that was made without it. Credit is the
    answer's log-odds in terms of those of the best annotators: 0 for a guess, below 0 for what is the wrong way round.
    """
    rates, wrong = rates_by_groups(told, together)
    usual = np.log((1 - wrong) / wrong)
    credit = np.clip(log_odds(told, *rates) / usual, -1, 1)
    if (np.abs(credit - odds.credit) < 1 - ALIKE).all():
        return None
    return replace(odds, credit=credit)


def rates_by_groups(told: Told, together: NDArray[np.bool_]) -> tuple[tuple[Floats, Floats], float]:
    """The rates (A,) of each annotator, and that of the best both ways."""
    within = together.astype(np.float64)
    flat = np.full(told.n_annotators, 0.1)
    e, d = estimate(told, within, *estimate(told, within, flat, flat))  # as if groups were classes
    says_same = told.same > 0.5
    denied = told.per_annotator(told.weight * (says_same != together))
    number = told.per_annotator(told.weight)
    borne_out = number * np.maximum(1 - e - d, 0) ** 2
    best = borne_out / max(borne_out.sum(), 1e-12)
    share = float((best * denied / np.maximum(number, 1e-12)).sum())
    wrong = min(max(share, LEAST_WRONG), MOST_WRONG)
    a = float((best @ (1 - e) - wrong) / (1 - 2 * wrong))
    b = float((best @ d - wrong) / (1 - 2 * wrong))
    a, b = min(max(a, 0.0), 1.0), min(max(b, 0.0), 1.0)
    if a - b < 0.1:  # the groups do not show the classes
        return (np.full(told.n_annotators, wrong), np.full(told.n_annotators, wrong)), wrong
    false_different = 1 - ((1 - b) * (1 - e) - (1 - a) * d) / (a - b)
    false_same = (a * d - b * (1 - e)) / (a - b)
    least, most = LEAST_WRONG, 1 - LEAST_WRONG
    return (np.clip(false_different, least, most), np.clip(false_same, least, most)), wrong
