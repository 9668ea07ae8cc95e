"""How far links between groups go with "same", learned from the answers.

    P(same) = e + (1 - 2e) / (1 + exp(-a x_g))

x_g is the strength of the links between the groups of the two items (`partition.py`) at the resolution g. Both a and g
have a guess, which counts as a few answers. The guess of g makes too many groups rather than too few: two that are one
are found by one question, two in one only by asking about every group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from likewise.clustering.constraints import Floats
from likewise.querying.partition import Scale, strength

GUESS = Scale(3.0, 1.5)
SLOPES = GUESS.slope * 2.0 ** np.arange(-1, 2.1, 0.5)
RESOLUTIONS = GUESS.resolution * 2.0 ** np.arange(-3, 3.1, 0.5)
STRAY = 0.1  # the share of items that do not go with those around them
SPREAD = 1.0  # of the guess, of log a and of log g


def calibrate(links: Floats, same: NDArray[np.bool_], wrong: float) -> Scale:
    """The mean of the scales on a grid, as likely as they are, from links and chance (m, 2) and answers (m,)."""
    slope, resolution, total = _on_grid(links, same, wrong)
    weight = softmax(total)  # one answer must not turn many joins at once, as it does the likeliest scale
    return Scale(float(np.exp(weight @ np.log(slope))), float(np.exp(weight @ np.log(resolution))))


def log_likelihood(links: Floats, same: NDArray[np.bool_]) -> float:
    """Of the answers, under the likeliest scale, the guess counted too."""
    return float(_on_grid(links, same, STRAY)[2].max())


def _on_grid(links: Floats, same: NDArray[np.bool_], wrong: float) -> tuple[Floats, Floats, Floats]:
    """Slopes and resolutions, and the log-likelihood of each two."""
    slope, resolution = (axis.ravel() for axis in np.meshgrid(SLOPES, RESOLUTIONS, indexing="ij"))
    guess = -0.5 * (np.log(slope / GUESS.slope) ** 2 + np.log(resolution / GUESS.resolution) ** 2) / SPREAD**2
    x = strength(links[:, 0], links[:, 1], resolution[:, None])  # (grid, m)
    wrong = max(wrong, STRAY)
    p = wrong + (1 - 2 * wrong) * expit(slope[:, None] * x)
    return slope, resolution, np.log(np.where(same, p, 1 - p)).sum(axis=1) + guess
