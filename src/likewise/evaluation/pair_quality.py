"""How well similarities agree with answers: accuracy, precision and recall of each kind, and calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from likewise.evaluation.calibration import as_shares, calibration


@dataclass(frozen=True)
class PairQuality:
    """A share of nothing is NaN.

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
    """Judge probabilities of "same" (m,) by the truth (m,); what is above 0.5 is said to be the same.

    >>> pair_quality([0.9, 0.8, 0.3, 0.2], [1, 0, 1, 0])
    PairQuality(n_same=2, n_different=2, same_precision=0.5, same_recall=0.5, different_precision=0.5, \
different_recall=0.5, calibration_error=0.45)
    """
    p, truth = np.asarray(similarity, dtype=np.float64).ravel(), np.asarray(same).ravel() > 0.5
    said = p > 0.5
    right_same, right_different = int(np.sum(said & truth)), int(np.sum(~said & ~truth))
    return PairQuality(
        n_same=int(truth.sum()),
        n_different=int((~truth).sum()),
        same_precision=_share(right_same, int(said.sum())),
        same_recall=_share(right_same, int(truth.sum())),
        different_precision=_share(right_different, int((~said).sum())),
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

    >>> found = pair_accuracy([0.9, 0.2, 0.1, 0.3, 0.8], [1, 1, 0, 0.2, 0.5])
    >>> found
    PairAccuracy(same_hits=1, n_same=2, different_hits=2, n_different=2)
    >>> found.accuracy, found.balanced
    (0.75, 0.75)
    """
    said, answer = as_shares(similarity, "similarity") > 0.5, hard_answers(same)
    if said.shape != answer.shape:
        raise ValueError(f"similarity and same must be of equal length, got {len(said)} and {len(answer)}.")
    return PairAccuracy(
        same_hits=int(np.sum(said & (answer == 1))),
        n_same=int(np.sum(answer == 1)),
        different_hits=int(np.sum(~said & (answer == 0))),
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
