"""Answers as evidence: what the witnesses of a pair said, weighed by how often each of them is wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from likewise.pairs.keys import keys
from likewise.pairs.rates import Told, log_odds

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Floats = NDArray[np.float64]

LEAST = 0.02  # a pair of which P(same) is as near to 1/2 tells nothing
SUREST = 12.0  # log-odds, in favour or against


def credibility(pairs: Pairs, false_different: Floats, false_same: Floats) -> Floats:
    """(m,) P(same) by each answer alone, whose annotator has these rates (A,): 1/2 where it says nothing."""
    odds = log_odds(Told.of(pairs), false_different, false_same)
    return np.asarray(expit(odds.clip(-SUREST, SUREST)))


def evidence(pairs: Pairs, false_different: Floats, false_same: Floats) -> Pairs:
    """One answer for each pair: `same` is P(same) by all answers about it; those that tell nothing are left out."""
    odds = log_odds(Told.of(pairs), false_different, false_same)
    _, first, place = np.unique(keys(pairs.left, pairs.right, pairs.n_items), return_index=True, return_inverse=True)
    same = expit(np.bincount(place, odds, minlength=len(first)).clip(-SUREST, SUREST))
    one = replace(pairs.select(first), annotator=None, annotators=())
    one = replace(one, same=same.astype(np.float32), weight=np.ones(len(first), dtype=np.float32))
    return one.select(np.abs(same - 0.5) > LEAST)
