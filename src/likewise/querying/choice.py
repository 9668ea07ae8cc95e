"""Which view the items are seen in: the one that explains the answers, once they tell.

    log-likelihood of a view = max over scales of sum over answers of log P(answer | links between the two groups)

The groups are those that the view has without answers. The first view chose most of the questions, and asked where it
was in doubt itself; so another one must be better by `HEAD` nats, and `EACH` for each answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from likewise.clustering.constraints import Ints
from likewise.querying.calibration import GUESS, log_likelihood
from likewise.querying.partition import Partition, partition
from likewise.querying.view import View

HEAD, EACH = 5.0, 0.1


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
