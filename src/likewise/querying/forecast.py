"""How many more answers it takes to a target accuracy: a range, which should hold in four of five cases.

Questions are worth so many items each (`candidates.py`); enough of the best make up what is missing to the target.
"""

from __future__ import annotations

import math

import numpy as np

from likewise.clustering.constraints import Floats

FEW = 10  # answers that chance adds
FASTEST, SLOWEST = 0.2, 2.0  # answers for each that is counted
OPTIMISM = 0.2  # of the way down its interval: where the accuracy may well be
LEAST_VALUE = 0.25  # items that a question puts right, at least


def forecast(n: int, values: Floats, accuracy: tuple[float, float, float], target: float) -> tuple[int, int]:
    """How many more answers it takes to a target accuracy (low, high) among n items.

    Questions are worth `values` (q,), the best first. The lower end takes the estimate and the values as they are; the
    upper end a lower accuracy, and that it takes more than one answer to put a group right.
    """
    estimate, low, _ = accuracy
    least = _questions(n * (target - estimate), values)
    most = _questions(n * (target - estimate + OPTIMISM * (estimate - low)), values)
    return math.floor(FASTEST * least), math.ceil(SLOWEST * most) + FEW


def _questions(missing: float, values: Floats) -> int:
    """The number of questions that put so many items right."""
    if missing <= 0:
        return 0
    gained = np.cumsum(np.maximum(values, LEAST_VALUE))
    last, total = (max(float(values[-1]), LEAST_VALUE), float(gained[-1])) if len(values) else (LEAST_VALUE, 0.0)
    if missing > total:
        return len(values) + math.ceil((missing - total) / last)
    return int(np.searchsorted(gained, missing)) + 1
