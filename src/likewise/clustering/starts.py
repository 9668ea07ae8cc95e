"""Where penalised k-means begins: at the centres of neighbourhoods, the items that must-links hold together.

Basu, Banerjee and Mooney, Semi-supervised clustering by seeding, ICML 2002; the choice among many neighbourhoods is
that of Bilenko, Basu and Mooney, ICML 2004: the largest first, then those that are large and far from the chosen.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from likewise.clustering.constraints import Constraints, Floats, Ints
from likewise.clustering.k_means import nearest
from likewise.pairs.correlation_clustering import group_greedily

ROUNDS = 10  # of grouping what contradicting answers are about; a good grouping will do, the best is not needed


def neighbourhoods(given: Constraints) -> Ints:
    """(n,) The neighbourhood of each item: its component, unless the answers contradict one another.

    One wrong must-link joins two classes; then the items are grouped so that little credibility is lost instead.
    """
    i, j = given.cannot_link.T
    if not (given.component[i] == given.component[j]).any():
        return given.component
    ends = np.concatenate([given.must_link, given.cannot_link])
    credit = np.concatenate([given.must_weight, -given.cannot_weight])
    return group_greedily(ends[:, 0], ends[:, 1], credit, given.n_items, ROUNDS)


def starts(
    items: Floats, group: Ints, n_clusters: int, number: int, random: np.random.RandomState
) -> Iterator[tuple[Ints, Floats]]:
    """Labels (n,) and centres (K, d) to begin with, so many times.

    First, an item begins with its neighbourhood if that was chosen, else at the nearest centre. Where there are fewer
    neighbourhoods of two or more items than clusters, items far from all centres are drawn for the rest, with
    probabilities that grow with the squared distance; of some candidates that is taken which leaves the items nearest
    to their centres, as the greedy form of k-means++ does. The later starts are drawn so altogether.
    """
    size = np.bincount(group)
    centre = np.zeros((len(size), items.shape[1]))
    np.add.at(centre, group, items)
    centre /= size[:, None]
    among = np.flatnonzero(size > 1)
    chosen = among[_large_and_far(centre[among], size[among].astype(np.float64), n_clusters)]
    place = np.full(len(size), -1)
    place[chosen] = np.arange(len(chosen))

    centres = _draw(items, centre[chosen], n_clusters, random)
    yield np.where(place[group] >= 0, place[group], nearest(items, centres)), centres
    for _ in range(number - 1):
        centres = _draw(items, centre[:0], n_clusters, random)
        yield nearest(items, centres), centres


def _draw(items: Floats, centres: Floats, n_clusters: int, random: np.random.RandomState) -> Floats:
    """(K, d) The centres given, and items drawn for the rest."""
    n_candidates = 2 + int(np.log(n_clusters))
    while len(centres) < n_clusters:
        apart = _to_nearest(items, centres) if len(centres) else np.ones(len(items))
        total = apart.sum()
        chance = apart / total if total > 0 else np.full(len(items), 1 / len(items))
        candidates = items[random.choice(len(items), n_candidates, p=chance)]
        left = [np.minimum(apart, _to_nearest(items, candidate[None])).sum() for candidate in candidates]
        best = int(np.argmin(left)) if len(centres) else 0
        centres = np.concatenate([centres, candidates[best][None]])
    return centres


def _large_and_far(centre: Floats, size: Floats, most: int) -> Ints:
    """Farthest-first traversal of centres, their distances weighed by their sizes, from the largest on."""
    chosen: list[int] = []
    apart = np.ones(len(centre))
    while len(chosen) < min(most, len(centre)):
        value = size * apart
        value[chosen] = -1.0
        chosen.append(int(value.argmax()))
        apart = _to_nearest(centre, centre[chosen])
    return np.array(chosen, dtype=np.int64)


def _to_nearest(items: Floats, centres: Floats) -> Floats:
    """(n,) The squared distance to the nearest of the centres."""
    apart = (items**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1) - 2 * items @ centres.T
    return np.asarray(np.maximum(apart.min(axis=1), 0.0))


def linked_inside(given: Constraints, group: Ints) -> tuple[Ints, Floats]:
    """(m, 2) The linked pairs inside of neighbourhoods, and (m,) their s_ij."""
    ends = np.concatenate([given.must_link, given.cannot_link])
    credit = np.concatenate([given.must_weight, -given.cannot_weight])
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    return ends[inside], credit[inside]
