"""Whether an item is of a class that nobody has seen: by how alike it is to its nearest known items.

    s = the mean cosine of the three nearest known items,     logit P(new) = a log(1 - s) + b + log(prior / (1 - prior))

The logarithm makes it a matter of how many times farther an item is than is usual. a and b are fitted to known classes:
each class is left out in turn, and its items stand for unseen ones. With the items of a pile given, the prior need not
be: it is the share at which the mean P(new) of the pile is the prior itself (Saerens et al., 2002).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata

from likewise.evaluation.calibration import platt

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEAREST = 3
PRIOR = 0.1  # of later items, that one is of a class nobody has seen
ROUNDS = 100
BLOCK = 2000  # items whose cosines are in memory at once


@dataclass(frozen=True)
class Novelty:
    """P(new) from s, and how well it told left-out classes from the others (AUROC).

    >>> Novelty(slope=2.0, offset=5.0, auroc=0.9).probability(np.array([0.0, 0.99]), prior=0.5).round(2).tolist()
    [0.99, 0.01]
    """

    slope: float
    offset: float
    auroc: float

    @classmethod
    def fit(cls, z: NDArray[np.floating], codes: Ints) -> Novelty | None:
        """From items of known classes (n, d), of length 1; None where nothing can be learned from them."""
        if len(np.unique(codes)) < 2 or np.bincount(codes).max() < 2:
            return None
        seen, unseen = [], []
        for start in range(0, len(z), BLOCK):
            rows = np.arange(start, min(start + BLOCK, len(z)))
            alike = z[rows] @ z.T
            alike[np.arange(len(rows)), rows] = -np.inf
            seen.append(_nearest(alike))
            alike[codes[rows][:, None] == codes] = -np.inf  # its own class is left out
            unseen.append(_nearest(alike))
        old, new = np.concatenate(seen), np.concatenate(unseen)
        kept = np.isfinite(old) & np.isfinite(new)
        if not kept.any():
            return None
        scores, is_new = np.concatenate([old[kept], new[kept]]), np.repeat([False, True], kept.sum())
        slope, offset = platt(_farness(scores), is_new)
        if slope <= 0:  # what is near is no more likely to be known
            return None
        return cls(slope, offset, auroc(-scores, is_new))

    def probability(self, scores: Floats, prior: float = PRIOR) -> Floats:
        odds = self.slope * _farness(scores) + self.offset
        return np.asarray(expit(odds + np.log(prior) - np.log1p(-prior)))

    def share(self, scores: Floats) -> float:
        """The share of a pile that is new, from the scores of its items."""
        prior = 0.5
        for _ in range(ROUNDS):
            prior = float(np.clip(self.probability(scores, prior).mean(), 1e-6, 1 - 1e-6))
        return prior


def nearness(z: Floats, known: Floats) -> Floats:
    """s (n,) of items z (n, d) beside known ones (m, d), all of length 1.

    >>> nearness(np.eye(2), np.array([[1.0, 0.0]]))
    array([1., 0.])
    """
    return np.concatenate([_nearest(z[start : start + BLOCK] @ known.T) for start in range(0, len(z), BLOCK)])


def _farness(scores: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(1 - scores, 1e-6)))


def _nearest(alike: Floats) -> Floats:
    k = min(NEAREST, alike.shape[1])
    return np.asarray(np.partition(alike, -k, axis=1)[:, -k:].mean(axis=1))


def auroc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """The probability that a positive has a higher score than a negative.

    >>> auroc(np.array([0.1, 0.4, 0.3, 0.8]), np.array([False, False, True, True]))
    0.75
    """
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not n_positive or not n_negative:
        raise ValueError("AUROC needs cases of both kinds.")
    ranks = rankdata(scores)
    return float((ranks[positive].sum() - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))
