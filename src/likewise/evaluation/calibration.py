"""Calibration: whether what is said with 80 % happens in 80 of 100 cases; and Platt scaling, which makes it so."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

ROUNDING = 1e-5  # by which a sum of products of float32 probabilities may step over 0 or 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions in bins of equal width, beside what was observed there.

    >>> from likewise.evaluation import calibration
    >>> result = calibration([0.1, 0.2, 0.9], [0, 0, 1], bins=2)
    >>> result.count, result.observed
    (array([2, 1]), array([0., 1.]))
    """

    edges: Floats  # (bins + 1,) from 0 to 1; a prediction on an edge belongs below it
    count: NDArray[np.int64]  # (bins,)
    predicted: Floats  # (bins,) mean prediction, NaN where a bin is empty
    observed: Floats  # (bins,) share that was true, NaN where a bin is empty
    error: float  # expected calibration error, NaN without a single prediction


def calibration(probability: ArrayLike, truth: ArrayLike, bins: int = 10) -> Calibration:
    """Compare predicted probabilities with the truth (0, 1, or a share between them), bin by bin.

    With n_b predictions in bin b of n, their mean p_b and the mean t_b of their truths, the expected calibration
    error (Naeini et al., 2015) is

        error = sum_b (n_b / n) |t_b - p_b|

    >>> result = calibration([0.1, 0.2, 0.9, 0.7], [0, 0, 1, 1], bins=2)
    >>> result.count.tolist(), result.observed.tolist(), round(result.error, 3)
    ([2, 2], [0.0, 1.0], 0.175)
    """
    predictions, true = as_shares(probability, "probability"), as_shares(truth, "truth")
    if predictions.shape != true.shape:
        raise ValueError(f"probability and truth must be of equal length, got {len(predictions)} and {len(true)}.")
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}.")
    edges = np.linspace(0, 1, bins + 1)
    bin_of = np.searchsorted(edges[1:-1], predictions)  # (n,)
    count = np.bincount(bin_of, minlength=bins)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin
        predicted = np.bincount(bin_of, predictions, minlength=bins) / count
        observed = np.bincount(bin_of, true, minlength=bins) / count
    gap = np.nan_to_num(np.abs(observed - predicted))
    error = float(count @ gap) / len(predictions) if len(predictions) else float("nan")
    return Calibration(edges, count, predicted, observed, error)


def as_shares(values: ArrayLike, name: str) -> Floats:
    """Numbers in [0, 1] as float64 (n,), or a ValueError that says what is wrong with them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, got shape {array.shape}.")
    if not ((array >= -ROUNDING) & (array <= 1 + ROUNDING)).all():  # also where it is NaN
        raise ValueError(f"{name} must be between 0 and 1, got values from {array.min()} to {array.max()}.")
    return array.clip(0, 1)


# Platt scaling: the two numbers that make a score the logarithm of odds.
def platt(scores: ArrayLike, truth: ArrayLike) -> tuple[float, float]:
    """The slope and offset with which P(true) = sigmoid(slope score + offset) is most likely (Platt, 1999).

    With n_1 truths of 1 and n_0 of 0, the targets are (n_1 + 1) / (n_1 + 2) and 1 / (n_0 + 2), which keeps both numbers
    finite where the scores tell the two apart without a fault.

    >>> scores = np.repeat([-2.0, 0.0, 1.0], 1000)
    >>> slope, offset = platt(scores, np.random.default_rng(0).random(3000) < 1 / (1 + np.exp(-(3 * scores - 1))))
    >>> round(slope), round(offset)
    (3, -1)
    """
    x, true = np.asarray(scores, dtype=np.float64).ravel(), np.asarray(truth).ravel() > 0.5
    if x.shape != true.shape or not np.isfinite(x).all():
        raise ValueError(f"scores and truth must be of equal length and finite, got {len(x)} and {len(true)}.")
    n_true = int(true.sum())
    if not 0 < n_true < len(x):
        raise ValueError("Calibration needs cases of both kinds.")
    target = np.where(true, (n_true + 1) / (n_true + 2), 1 / (len(x) - n_true + 2))
    centre, width = x.mean(), x.std() or 1.0
    design = np.stack([(x - centre) / width, np.ones_like(x)])  # (2, n)
    weights = np.zeros(2)
    loss = _loss(weights, design, target)
    for _ in range(100):
        p = 1 / (1 + np.exp(-(weights @ design)))
        gradient = design @ (p - target)
        curvature = (design * (p * (1 - p))) @ design.T + 1e-10 * len(x) * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        while (after := _loss(weights - step, design, target)) > loss:  # Newton's step may be too long far away
            step /= 2
            if np.abs(step).max() < 1e-12:
                break
        if after > loss or np.abs(step).max() < 1e-9:
            break
        weights, loss = weights - step, after
    slope = weights[0] / width
    return float(slope), float(weights[1] - slope * centre)


def _loss(weights: np.ndarray, design: np.ndarray, target: np.ndarray) -> float:
    z = weights @ design
    return float(np.sum(np.logaddexp(0, z) - target * z))
