"""Platt scaling: the two numbers that make a score the logarithm of odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


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
