"""Several pairs on one screen: a grid of items that may not belong to a class, or one item beside several classes.

A grid is worth asking where the classes are sure: most of its items belong. A strip is for one item that is in doubt.
"""

from __future__ import annotations

import numpy as np

from likewise.querying.beliefs import Beliefs
from likewise.querying.candidates import Asked, Settled, members, middle_items, pair_of, unasked

SURE = 0.8  # items of a grid are in its class with this probability at least, so that most need no click
ANCHORS = 3  # items that stand for the class of a grid
DOUBTFUL = 20  # items that a strip may be about


def grid(beliefs: Beliefs, size: int, asked: Asked, settled: Settled) -> tuple[list[int], list[int]] | None:
    """Items that stand for a class, and others of it that are most in doubt; None where none are left to ask."""
    column, doubt = beliefs.posterior.argmax(axis=1), beliefs.doubt
    sure = doubt <= 1 - SURE
    total = np.bincount(column, doubt * sure, minlength=beliefs.posterior.shape[1])[:-1]
    left_alone = settled.clusters(beliefs, "verify")
    for cluster in np.argsort(-total, kind="stable"):
        if left_alone[cluster]:
            continue
        typical = middle_items(beliefs, np.flatnonzero(beliefs.parts.cluster == cluster), atoms_first=False)
        anchors = typical[:ANCHORS]
        inside = np.flatnonzero((column == cluster) & sure)
        order = inside[np.lexsort((-doubt[inside], beliefs.view.rank[inside] > 0))]
        fresh = [int(i) for i in order if i not in anchors and pair_of(int(i), anchors[0]) not in asked]
        if fresh:
            return anchors, fresh[:size]
    return None


def strip(beliefs: Beliefs, size: int, asked: Asked, settled: Settled) -> tuple[int, list[int]] | None:
    """An item, and one that stands for each of its likeliest classes; None where none are left to ask."""
    q = beliefs.posterior
    free = np.flatnonzero(~settled.clusters(beliefs, "verify")[q.argmax(axis=1)])
    for item in free[np.argsort(q[free].max(axis=1), kind="stable")[:DOUBTFUL]]:
        likely = np.argsort(-q[item, :-1], kind="stable")[:size]
        pairs = [unasked([int(item)], members(beliefs, int(c), int(item)), asked) for c in likely]
        if shown := [pair[1] for pair in pairs if pair]:
            return int(item), shown
    return None
