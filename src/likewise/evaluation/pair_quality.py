"""How well similarities agree with answers (accuracy, precision, recall, calibration), and with themselves.

If i is the same as j, and j as k, then i is the same as k. Where a similarity says otherwise of many such triples, or
says "same" hardly ever or nearly always, the groups that it suggests are not classes (`trust`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.calibration import as_shares, calibration


@dataclass(frozen=True)
class PairQuality:
    """How good predicted similarities are on pairs whose truth is known; a share of nothing is NaN.

    >>> from likewise.evaluation import pair_quality
    >>> pair_quality([0.9, 0.8, 0.3], [1, 0, 0]).same_precision
    0.5
    """

    n_same: int
    n_different: int
    same_precision: float
    same_recall: float
    different_precision: float
    different_recall: float
    calibration_error: float


def pair_quality(similarity: ArrayLike, same: ArrayLike) -> PairQuality:
    """Compare probabilities of "same" (m,) with the truth (m,); above 0.5 counts as same.

    >>> pair_quality([0.9, 0.8, 0.3, 0.2], [1, 0, 1, 0])
    PairQuality(n_same=2, n_different=2, same_precision=0.5, same_recall=0.5, different_precision=0.5, \
different_recall=0.5, calibration_error=0.45)
    """
    p, truth = np.asarray(similarity, dtype=np.float64).ravel(), np.asarray(same).ravel() > 0.5
    says_same = p > 0.5
    right_same, right_different = int(np.sum(says_same & truth)), int(np.sum(~says_same & ~truth))
    return PairQuality(
        n_same=int(truth.sum()),
        n_different=int((~truth).sum()),
        same_precision=_share(right_same, int(says_same.sum())),
        same_recall=_share(right_same, int(truth.sum())),
        different_precision=_share(right_different, int((~says_same).sum())),
        different_recall=_share(right_different, int((~truth).sum())),
        calibration_error=round(calibration(p, truth).error, 6),
    )


@dataclass(frozen=True)
class PairAccuracy:
    """Hits among the answers "same" and among the answers "different"; a share of nothing is NaN.

    Two items drawn at random are mostly different, so a model that always says "different" has a high `accuracy`;
    its `balanced` accuracy is 0.5.

    >>> always_different = PairAccuracy(same_hits=0, n_same=10, different_hits=90, n_different=90)
    >>> always_different.accuracy, always_different.balanced
    (0.9, 0.5)
    """

    same_hits: int
    n_same: int
    different_hits: int
    n_different: int

    @property
    def hits(self) -> int:
        return self.same_hits + self.different_hits

    @property
    def n(self) -> int:
        return self.n_same + self.n_different

    @property
    def accuracy(self) -> float:
        """The share of all answers that the model agrees with."""
        return _share(self.hits, self.n)

    @property
    def same_recall(self) -> float:
        """The share of the answers "same" that the model agrees with."""
        return _share(self.same_hits, self.n_same)

    @property
    def different_recall(self) -> float:
        """The share of the answers "different" that the model agrees with."""
        return _share(self.different_hits, self.n_different)

    @property
    def balanced(self) -> float:
        """The mean of the two recalls: both kinds of answer weigh the same. NaN unless there are both."""
        return (self.same_recall + self.different_recall) / 2


def pair_accuracy(similarity: ArrayLike, same: ArrayLike) -> PairAccuracy:
    """Count where `similarity`, the probability that two items are the same, agrees with the answers `same` (m,).

    An answer between 0 and 1 is taken for the side it is on, and one of exactly 0.5 is left out. The model says "same"
    where its similarity is above 0.5.

    >>> result = pair_accuracy([0.9, 0.2, 0.1, 0.3, 0.8], [1, 1, 0, 0.2, 0.5])
    >>> result
    PairAccuracy(same_hits=1, n_same=2, different_hits=2, n_different=2)
    >>> result.accuracy, result.balanced
    (0.75, 0.75)
    """
    says_same, answer = as_shares(similarity, "similarity") > 0.5, hard_answers(same)
    if says_same.shape != answer.shape:
        raise ValueError(f"similarity and same must be of equal length, got {len(says_same)} and {len(answer)}.")
    return PairAccuracy(
        same_hits=int(np.sum(says_same & (answer == 1))),
        n_same=int(np.sum(answer == 1)),
        different_hits=int(np.sum(~says_same & (answer == 0))),
        n_different=int(np.sum(answer == 0)),
    )


def hard_answers(same: ArrayLike) -> NDArray[np.int8]:
    """Answers as 1 same, 0 different and -1 undecided, which is exactly 0.5.

    >>> hard_answers([1, 0.2, 0.5])
    array([ 1,  0, -1], dtype=int8)
    """
    shares = as_shares(same, "same")
    return np.where(shares == 0.5, -1, shares > 0.5).astype(np.int8)


def _share(hits: int, n: int) -> float:
    return hits / n if n else float("nan")


LEAST_CONFIDENT, LEAST_CLOSED, MOST_ALONE, MOST_TOGETHER = 0.5, 0.5, 0.5, 0.9


@dataclass(frozen=True)
class Trust:
    """Signs of whether a similarity can be trusted on unlabelled items; shares between 0 and 1.

    >>> Trust(confident=0.9, closed=0.8, alone=0.0, together=0.2).doubts
    ()
    >>> Trust(confident=0.9, closed=0.8, alone=0.0, together=0.99).doubts
    ('it takes 99 % of the pairs for the same',)
    """

    confident: float  # of the pairs: below 0.2 or above 0.8
    closed: float  # of the chains i = j = k: those with i = k
    alone: float  # of the items: those that are the same as no other
    together: float  # of the pairs: those that are the same

    @property
    def doubts(self) -> tuple[str, ...]:
        """The evidence against the classes that are found with it; empty if there is none."""
        doubts = []
        if self.confident < LEAST_CONFIDENT:
            doubts.append(f"it is sure of {100 * self.confident:.0f} % of the pairs only")
        if self.closed < LEAST_CLOSED:
            doubts.append(f"it contradicts itself in {100 * (1 - self.closed):.0f} % of the chains i = j = k")
        if self.alone > MOST_ALONE:
            doubts.append(f"it finds nothing that is the same as {100 * self.alone:.0f} % of the items")
        if self.together > MOST_TOGETHER:
            doubts.append(f"it takes {100 * self.together:.0f} % of the pairs for the same")
        return tuple(doubts)


def trust(similarity: ArrayLike) -> Trust:
    """Look at the probabilities of "same" of all pairs of n items, (n, n); an item with itself does not count.

    >>> trust([[1, 0.9, 0.9], [0.9, 1, 0.1], [0.9, 0.1, 1]])
    Trust(confident=1.0, closed=0.0, alone=0.0, together=0.6666666865348816)
    """
    s = np.asarray(similarity, dtype=np.float32)
    if s.ndim != 2 or s.shape[0] != s.shape[1] or len(s) < 2:
        raise ValueError(f"similarity must be (n, n) for two items or more, got {s.shape}.")
    apart = ~np.eye(len(s), dtype=np.bool_)
    same = ((s > 0.5) & apart).astype(np.float32)
    chains = same @ same  # (i, k): how many j are the same as both
    n_chains = float((chains * apart).sum())
    closed = float((chains * same).sum()) / n_chains if n_chains else 1.0
    confident = float(((s < 0.2) | (s > 0.8))[apart].mean())
    return Trust(confident, closed, float((same.sum(1) == 0).mean()), float(same[apart].mean()))
