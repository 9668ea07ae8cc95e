"""How good a predicted similarity is: precision and recall of "same" and of "different", and its calibration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from likewise.evaluation.calibration import calibration


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


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")
