"""Mean shift with a reach of its own for each item: every item climbs to a mode of the density, and modes are clusters.

    f(y) = sum_j k(||y - z_j||^2 / h_j^2),   k(u) = exp(-u / 2) - exp(-1 / 2) where u <= 1, else 0
    y   <- sum_j w_j z_j / sum_j w_j,        w_j = exp(-u_j / 2) / h_j^2 where u_j <= 1, else 0

k is the truncated normal profile, and h_j the distance from item j to a neighbour of some number. Comaniciu, Ramesh and
Meer, The variable bandwidth mean shift and data-driven scale selection, 2001. The factor h_j^-r that makes each bump a
density is left out: in the hundreds of dimensions of a kernel it would leave all weight to the item with the smallest
reach. f never falls on the way.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from likewise.clustering.constraints import Floats, Ints

ROUNDING = 1e-9  # the neighbour whose distance is the reach is in it


class Modes(NamedTuple):
    labels: Ints  # (n,) the mode that each item climbed to
    places: Floats  # (n, r) where each item ended


def reaches(squared: Floats, neighbour: int) -> Floats:
    """(n,) h: the distance of each item to the neighbour of this number; the smallest above 0 where that is none."""
    nth = min(neighbour, len(squared) - 1)
    reach = np.sqrt(np.partition(squared, nth, axis=1)[:, nth])  # an item is its own neighbour number 0
    positive = reach[reach > 0]
    return np.where(reach > 0, reach, positive.min() if len(positive) else 1.0)


def shift_to_modes(items: Floats, reach: Floats, merge: float, max_iter: int = 300, tolerance: float = 1e-4) -> Modes:
    """Climb until the step is below `tolerance` of the median reach; modes within the distance `merge` are one.

    >>> items = np.array([[0.0], [1.0], [2.0], [20.0], [21.0]])
    >>> shift_to_modes(items, np.full(5, 2.5), merge=0.5).labels
    array([0, 0, 0, 1, 1])
    """
    places, moving = items.copy(), np.arange(len(items))
    stop = (tolerance * float(np.median(reach))) ** 2
    size = (items**2).sum(axis=1)
    for _ in range(max_iter):
        now = places[moving]
        squared = np.maximum((now**2).sum(axis=1)[:, None] + size - 2 * now @ items.T, 0.0)
        ratio = squared / reach**2  # u
        weight = np.where(ratio <= 1 + ROUNDING, np.exp(-ratio / 2) / reach**2, 0.0)
        places[moving] = weight @ items / weight.sum(axis=1, keepdims=True)  # never 0: f does not fall from f(z_i) > 0
        moving = moving[((places[moving] - now) ** 2).sum(axis=1) > stop]
        if not len(moving):
            break
    size = (places**2).sum(axis=1)
    close = size[:, None] + size - 2 * places @ places.T <= merge**2
    return Modes(connected_components(coo_array(close), directed=False)[1].astype(np.int64), places)
