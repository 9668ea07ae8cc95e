"""What random questions say: the accuracy with an interval, and the share of classes that nobody has seen yet.

An audit asks about a random item and a member of its class. So the share of "same" is an unbiased estimate of the share
of items that are with their like; wrong answers are taken off it: p = (share - e) / (1 - 2e). Where audits are few,
what the posterior expects counts as `PRIOR` of them. A class in two clusters is counted by its larger one alone:

    accuracy = p (1 - sum over clusters of P(part of another) size / n)

The share of items whose class was met in no audit is that of the classes met once (Good, 1953): n_1 / audits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from likewise.clustering.constraints import Floats, Ints
from likewise.evaluation.intervals import wilson
from likewise.querying.beliefs import Beliefs

PRIOR = 5
CONFIDENCE = 0.9


def accuracy(beliefs: Beliefs, hits: int, audits: int) -> tuple[float, float, float]:
    """The estimate, and its interval (low, high)."""
    n, parts = len(beliefs.view.atom), beliefs.parts
    splits = float((parts.small / (1 + np.exp(parts.odds))).sum()) / n
    expected = float(beliefs.posterior.max(axis=1).mean()) - min(splits, 0.5)
    share = (hits + PRIOR * min(max(expected, 0.0), 1.0)) / (audits + PRIOR)
    e = beliefs.wrong if audits else 0.0
    low, high = ((one - e) / (1 - 2 * e) for one in wilson(share * (audits + PRIOR), audits + PRIOR, CONFIDENCE))
    whole, error = whole_classes(beliefs)
    estimate = min(max((share - e) / (1 - 2 * e), 0.0), 1.0) * whole
    return estimate, max(0.0, min(low * (whole - error), estimate)), min(1.0, max(high * (whole + error), estimate))


def whole_classes(beliefs: Beliefs) -> tuple[float, float]:
    """The share of items in the largest cluster of their class, as expected, and its standard error."""
    sizes = beliefs.parts.sizes
    order = np.argsort(-sizes, kind="stable")
    larger = np.tril(beliefs.joins[np.ix_(order, order)], -1)  # with each cluster before it
    part = 1 - np.prod(1 - np.clip(larger, 0, 1), axis=1)
    share = sizes[order] / sizes.sum()
    return 1 - float(part @ share), math.sqrt(float((part * (1 - part)) @ share**2))


def unseen_share(classes: Ints | Sequence[int]) -> float:
    """The share of items of classes that no audit met, from the class of each audit.

    >>> unseen_share([0, 0, 1, 2])
    0.5
    """
    counts = Counter(int(each) for each in classes)
    return sum(count == 1 for count in counts.values()) / len(classes) if len(classes) else 1.0


FEW = 10  # answers that chance adds
FASTEST, SLOWEST = 0.2, 2.0  # answers for each that is counted
OPTIMISM = 0.2  # of the way down its interval: where the accuracy may well be
LEAST_VALUE = 0.25  # items that a question puts right, at least


def forecast(n: int, values: Floats, estimate: float, low: float, target: float) -> tuple[int, int]:
    """How many more answers it takes to a target accuracy (low, high) among n items.

    Questions are worth `values` (q,), the best first. The lower end takes the estimate and the values as they are; the
    upper end a lower accuracy, and that it takes more than one answer to put a group right.
    """
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
