"""How many more answers it takes to a target accuracy: a range, which should hold in four of five cases.

The next questions are worth v items each (`candidates.py`), and n (target - accuracy) items are missing:

    q(a) = n max(target - a, LEAST) / v,         range = [FASTEST q(estimate), SLOWEST q(low) + FEW]

The estimate may be too good, above all of many classes, so the range ends by where its interval begins. It takes longer
where wrong answers are asked about again or more turns out to be missing, and less where one answer settles several
groups. The factors were set so that four of five forecasts hold in generated problems (`benchmarks/forecast.py` of the
repository), of 3 to 25 classes that are near or far, in one place or several.
"""

from __future__ import annotations

import math

from likewise.clustering.constraints import Floats

FASTEST, SLOWEST, FEW = 0.35, 6.0, 10
NEXT = 10  # questions whose worth is counted on
LEAST = 0.02  # of the items are taken to be missing, however good the estimate: it is none too sure
LEAST_VALUE = 0.25  # items that a question puts right, at least


def forecast(n: int, values: Floats, accuracy: tuple[float, float, float], target: float) -> tuple[int, int]:
    """How many more answers it takes to a target accuracy (low, high) among n items.

    Questions are worth `values` (q,), the best first; `accuracy` is the estimate with its interval.

    >>> import numpy as np
    >>> forecast(100, np.array([4.0, 3.0, 2.0]), (0.83, 0.7, 0.9), 0.95)
    (1, 60)
    """
    estimate, lowest, _ = accuracy
    pairs = n * (n - 1) // 2
    soonest = 0 if estimate >= target else math.floor(FASTEST * questions_to(n, values, estimate, target))
    latest = math.ceil(SLOWEST * questions_to(n, values, lowest, target)) + FEW
    return min(soonest, pairs), min(latest, pairs)


def questions_to(n: int, values: Floats, accuracy: float, target: float) -> float:
    """q"""
    worth = max(float(values[:NEXT].mean()) if len(values) else 0.0, LEAST_VALUE)
    return n * max(target - accuracy, LEAST) / worth
