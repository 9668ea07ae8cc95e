"""Which view the items are seen in: the one that explains the answers, once they tell.

    log-likelihood of a view = max over a, g of sum over answers of log P(answer | links between the two groups)

    P(same) = e + (1 - 2e) / (1 + exp(-a x_g))

x_g is the strength of the links at the resolution g (`partition.py`), e the share of items astray; the guess of a and g
counts as a few answers. The groups are those that the view has without answers. The first view chose most of the
questions, and asked where it was in doubt itself; so another one must be better by `HEAD` nats, and `EACH` for each
answer. Answers also lower g where they say "same" of many groups, but do not raise it: that would split groups that
nobody was asked about, and the classes could become worse than without answers.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from likewise.clustering.constraints import Floats, Ints
from likewise.querying.partition import GUESS, Partition, Scale, partition, strength
from likewise.querying.view import View

HEAD, EACH = 5.0, 0.1
GAIN = 2.0  # nats by which answers must be against the guess of the scale before it is left
SLOPES = GUESS.slope * 2.0 ** np.arange(-1, 2.1, 0.5)
RESOLUTIONS = GUESS.resolution * 2.0 ** np.arange(-3, 3.1, 0.5)
ASTRAY = 0.1  # the share of items that do not go with those around them
SPREAD = 1.0  # of the guess, of log a and of log g


def without_answers(view: View, n_classes: int | None = None) -> Partition:
    return partition(view, GUESS, np.zeros((view.n_atoms, view.n_atoms)), n_classes)


def best_view(views: Sequence[View], bases: Sequence[Partition], ends: Ints, same: NDArray[np.bool_]) -> int:
    """The number of the view; `bases` are their groups without answers, `ends` (m, 2) and `same` (m,) the answers."""
    if len(views) == 1 or not len(same):
        return 0
    scores = [
        log_likelihood(base.links_between(view.atom[ends]), same) for view, base in zip(views, bases, strict=True)
    ]
    best = int(np.argmax(scores))
    return best if scores[best] > scores[0] + HEAD + EACH * len(same) else 0


def log_likelihood(links: Floats, same: NDArray[np.bool_]) -> float:
    """Of the answers, from links and chance (m, 2), under the likeliest scale; the guess counts too."""
    return float(_on_grid(links, same)[2].max())


def calibrate(links: Floats, same: NDArray[np.bool_]) -> Scale:
    """The mean of the scales, weighed by how likely they are: how far links go with "same"."""
    slope, resolution, total = _on_grid(links, same)
    weight = softmax(total)  # one answer must not turn many joins at once, as it does the likeliest scale
    return Scale(float(np.exp(weight @ np.log(slope))), float(np.exp(weight @ np.log(resolution))))


def scale_to_join(links: Floats, same: NDArray[np.bool_]) -> Scale:
    """The scale at which atoms are joined: the guess, unless answers are clearly for fewer groups."""
    slope, resolution, total = _on_grid(links, same)
    fewer = resolution <= GUESS.resolution
    slope, resolution, total = slope[fewer], resolution[fewer], total[fewer]
    at_guess = total[(slope == GUESS.slope) & (resolution == GUESS.resolution)].max()
    if total.max() - at_guess < GAIN:
        return GUESS
    weight = softmax(total)
    return Scale(float(np.exp(weight @ np.log(slope))), float(np.exp(weight @ np.log(resolution))))


def _on_grid(links: Floats, same: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Slopes and resolutions, and the log-likelihood of each two."""
    slope, resolution = (axis.ravel() for axis in np.meshgrid(SLOPES, RESOLUTIONS, indexing="ij"))
    guess = -0.5 * (np.log(slope / GUESS.slope) ** 2 + np.log(resolution / GUESS.resolution) ** 2) / SPREAD**2
    x = strength(links[:, 0], links[:, 1], resolution[:, None])  # (grid, m)
    p = ASTRAY + (1 - 2 * ASTRAY) * expit(slope[:, None] * x)
    return slope, resolution, np.log(np.where(same, p, 1 - p)).sum(axis=1) + guess
