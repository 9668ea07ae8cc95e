"""What random questions say: the accuracy with an interval, and the share of classes that nobody has seen yet.

An audit asks about a random item and one that stands for its class. The beliefs of all other answers say what it should
be; so the share of audits as foretold is an unbiased estimate of the share of items that are with their like. Wrong
answers are taken off it: p = (share - e) / (1 - 2e). Where audits are few, what the posterior expects counts as `PRIOR`
of them. A class in two clusters is counted by its larger one alone:

    accuracy = p (1 - sum over clusters of P(part of another) size / n)

The share of items whose class was met in no audit is that of the classes met once (Good, 1953): n_1 / audits.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from likewise.clustering.constraints import Ints
from likewise.evaluation.intervals import wilson
from likewise.querying.beliefs import Beliefs

PRIOR = 5
CONFIDENCE = 0.9
SURELY_PARTS = 0.35  # of the items expected to be in a lesser part of their class: at least so many are


def accuracy(beliefs: Beliefs, hits: int, audits: int, finished: float = 0.0) -> tuple[float, float, float]:
    """The estimate, and its interval (low, high); people vouch for the share of items in finished groups."""
    prior = expected(beliefs)
    share = (hits + PRIOR * prior) / (audits + PRIOR)
    e = beliefs.wrong if audits else 0.0
    low, high = ((one - e) / (1 - 2 * e) for one in wilson(share * (audits + PRIOR), audits + PRIOR, CONFIDENCE))
    whole, error = whole_classes(beliefs)
    estimate = min(max((share - e) / (1 - 2 * e), 0.0), 1.0) * whole
    most = 1 - SURELY_PARTS * (1 - whole)
    low, high = max(0.0, min(low * (whole - error), estimate)), min(1.0, max(high * most, estimate))
    return finished + (1 - finished) * estimate, finished + (1 - finished) * low, finished + (1 - finished) * high


def expected(beliefs: Beliefs) -> float:
    """The share of items that are with their like, as the posterior has it."""
    n, parts = len(beliefs.view.atom), beliefs.parts
    splits = float((parts.small / (1 + np.exp(parts.odds))).sum()) / n
    return min(max(float(beliefs.posterior.max(axis=1).mean()) - min(splits, 0.5), 0.0), 1.0)


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
