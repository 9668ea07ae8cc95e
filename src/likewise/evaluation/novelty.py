"""Whether an item is of a class that nobody has seen: by how alike it is to its nearest known items.

    s = the mean cosine of the three nearest known items,     logit P(new) = a log(1 - s) + b + log(prior / (1 - prior))

The logarithm makes it a matter of how many times farther an item is than is usual. a and b are fitted to known classes:
each class is left out in turn, and its items stand for unseen ones.

How much of a pile is known needs no such stand-ins, which are often nearer or farther than what is really new:

    P(known) = min over t of  P(s > t in the pile) / P(s > t among known items)

since items near known ones are known ones, and all of the known part has its share there (Blanchard et al., 2010).
"""

from __future__ import annotations

from collections.abc import Iterator
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
LEAST_NEAR, THRESHOLDS = 0.4, 15  # of the known items, that lie above a threshold; how many are tried
BLOCK = 2000  # items whose cosines are in memory at once


@dataclass(frozen=True)
class Novelty:
    """The probability that an item is of a new class, from its nearness s; `auroc` says how well s tells them apart.

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


def known_share(z: Floats, pile: Floats) -> float:
    """The share of a pile (n, d) that is of the classes of known items (m, d), all of length 1.

    >>> random = np.random.default_rng(0)
    >>> rows = random.normal(size=(300, 2)) / 20 + np.repeat(np.eye(2), 150, axis=0)
    >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    >>> round(known_share(rows[:75], rows[75:]), 1)  # 75 of the other 225
    0.3
    """
    among, beside = np.concatenate(list(_leaving_out_itself(z))), nearness(pile, z)
    thresholds = np.quantile(among, np.linspace(0, 1 - LEAST_NEAR, THRESHOLDS, endpoint=False))
    ratios = [(beside > t).mean() / max((among > t).mean(), LEAST_NEAR) for t in thresholds]
    return float(min(1.0, *ratios))


def _leaving_out_itself(z: Floats) -> Iterator[Floats]:
    """s of known items among the others, block by block."""
    for start in range(0, len(z), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(z)))
        alike = z[rows] @ z.T
        alike[np.arange(len(rows)), rows] = -np.inf
        yield _nearest(alike)


def nearness(z: Floats, known: Floats) -> Floats:
    """The nearness s (n,) of items z (n, d) to known ones (m, d), all of length 1.

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
