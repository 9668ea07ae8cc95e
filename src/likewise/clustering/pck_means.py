"""PCK-means: k-means that pays for every constraint it breaks; and the steps that it shares with MPCK-means.

    J = 1/2 sum_i ||x_i - mu_{l_i}||^2 + w sum_{must} s_ij [l_i != l_j] + w sum_{cannot} s_ij [l_i = l_j]

In turns: each item moves to the cluster where it pays least while the others stay, and centres become means. J never
rises. Squared distances are in units of the mean ||x_i - mean||^2, so that w means the same whatever the scale. Basu,
Banerjee and Mooney, Active semi-supervision for pairwise constrained clustering, SDM 2004.

The assignment step (`reassign`) is for any penalised k-means

    J = sum_i base_{i, l_i} - sum_{i < j, l_i = l_j = h} pull_h(i, j)
    cost_ih = what item i pays in cluster h while all others stay = base_ih - sum over j in h of pull_h(i, j)

`base` is the part that does not depend on the labels of others. A move of j changes nothing but what its neighbours pay
in the cluster it left and in the one it joined, so `cost` is kept true at the price of j's links. Every move lowers J,
so it ends: iterated conditional modes (Besag 1986). Items that must-links hold together would never leave a wrong
cluster one by one, so blocks of them move too, by

    change of J = sum_{i in block} (cost_ih - cost_ia) - sum_{i < j in block} (pull_h(i, j) + pull_a(i, j)),

from a to h: its pairs are counted twice in cost_ia, and not at all in cost_ih.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, Ints, read_constraints
from likewise.clustering.k_means import nearest
from likewise.clustering.method import COUNT, FROM_0, Rules, Seed, check_items, warn_unless
from likewise.pairs import Pairs
from likewise.pairs.correlation_clustering import group_greedily

# Where penalised k-means begins: at the centres of neighbourhoods, the items that must-links hold together.
#
# Basu, Banerjee and Mooney, Semi-supervised clustering by seeding, ICML 2002; the choice among many neighbourhoods is
# that of Bilenko, Basu and Mooney, ICML 2004: the largest first, then those that are large and far from the chosen.

ROUNDS = 10  # of grouping what contradicting answers are about; a good grouping will do, the best is not needed


def neighbourhoods(constraints: Constraints) -> Ints:
    """(n,) The neighbourhood of each item: its component, unless the answers contradict one another.

    One wrong must-link joins two classes; then the items are grouped so that little credibility is lost instead.
    """
    i, j = constraints.cannot_link.T
    if not (constraints.component[i] == constraints.component[j]).any():
        return constraints.component
    ends = np.concatenate([constraints.must_link, constraints.cannot_link])
    credit = np.concatenate([constraints.must_weight, -constraints.cannot_weight])
    return group_greedily(ends[:, 0], ends[:, 1], credit, constraints.n_items, ROUNDS)


def starts(
    items: Floats, group: Ints, n_clusters: int, number: int, random: np.random.RandomState
) -> Iterator[tuple[Ints, Floats]]:
    """Initial labels (n,) and centres (K, d), once for each start.

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


def linked_inside(constraints: Constraints, group: Ints) -> tuple[Ints, Floats]:
    """(m, 2) The linked pairs inside of neighbourhoods, and (m,) their s_ij."""
    ends = np.concatenate([constraints.must_link, constraints.cannot_link])
    credit = np.concatenate([constraints.must_weight, -constraints.cannot_weight])
    inside = group[ends[:, 0]] == group[ends[:, 1]]
    return ends[inside], credit[inside]


LEAST = 1e-10  # of the costs: a smaller gain is rounding

Pull = Callable[[int, int, slice], Floats]  # (h, j, the entries of row j in `links`) -> pull_h(i, j) for each such i


@dataclass(frozen=True, eq=False)
class Neighbourhoods:
    """Items that belong together, and how they pull at one another."""

    group: Ints  # (n,)
    ends: Ints  # (m, 2) linked pairs inside of groups
    pull: Floats  # (m, K)


def reassign(cost: Floats, labels: Ints, links: csr_array, pull: Pull, together: Neighbourhoods | None = None) -> Ints:
    """(n,) Labels from which no move gains; `cost` (n, K), of the labels given, is kept true in place.

    A block is the part of a group that is in one cluster. Who gains most goes first, and looks again before moving.
    """
    labels = labels.copy()
    starts, neighbours = links.indptr, links.indices.astype(np.int64)
    alone = np.diff(starts) == 0
    labels[alone] = cost[alone].argmin(axis=1)
    least = LEAST * max(float(np.abs(cost).max()), np.finfo(np.float64).tiny)
    everyone = np.arange(len(cost))

    def move(j: int, new: int) -> None:
        entries = slice(starts[j], starts[j + 1])
        near, old = neighbours[entries], int(labels[j])
        labels[j] = new
        cost[near, old] += pull(old, j, entries)
        cost[near, new] -= pull(new, j, entries)

    def move_items() -> None:
        while True:
            gain = cost[everyone, labels] - cost.min(axis=1)
            movers = np.flatnonzero(gain > least)
            if not len(movers):
                return
            for j in movers[np.argsort(-gain[movers], kind="stable")].tolist():
                new = int(cost[j].argmin())
                if cost[j, labels[j]] - cost[j, new] > least:
                    move(j, new)

    def move_blocks(known: Neighbourhoods) -> bool:
        block, inner = _blocks(known, labels, cost.shape[1])
        order = np.argsort(block, kind="stable")
        first = np.flatnonzero(np.diff(block[order], prepend=-1))
        home = labels[order[first]]
        price = _prices(np.add.reduceat(cost[order], first, axis=0), inner, home)
        gain = price[np.arange(len(home)), home] - price.min(axis=1)
        moved = False
        for b in np.argsort(-gain, kind="stable")[: (gain > least).sum()].tolist():
            members = np.flatnonzero(block == b)
            now = _prices(cost[members].sum(axis=0)[None], inner[[b]], home[[b]])[0]
            new = int(now.argmin())
            if now[home[b]] - now[new] > least:
                moved = True
                for j in members.tolist():
                    move(j, new)
        return moved

    move_items()
    while together is not None and move_blocks(together):
        move_items()
    return labels


def _blocks(known: Neighbourhoods, labels: Ints, K: int) -> tuple[Ints, Floats]:
    """(n,) The block of each item, and (blocks, K) the sum of what its pairs pull, in each cluster."""
    block = np.unique(known.group * K + labels, return_inverse=True)[1]
    i, j = known.ends.T
    inside = labels[i] == labels[j]
    n_blocks = int(block.max()) + 1
    which = csr_array((np.ones(inside.sum()), (block[i[inside]], np.flatnonzero(inside))), (n_blocks, len(inside)))
    return block, np.asarray(which @ known.pull)


def _prices(cost: Floats, inner: Floats, home: Ints) -> Floats:
    """(blocks, K) What a block pays in each cluster, its own pairs counted once."""
    price = cost - inner
    price[np.arange(len(home)), home] += 2 * inner[np.arange(len(home)), home]
    return price


def means(items: Floats, labels: Ints, centres: Floats) -> Floats:
    """(K, d) The mean of each cluster; one without items stays where it was."""
    together = np.eye(len(centres))[labels]  # (n, K)
    size = together.sum(axis=0)
    return np.where(size[:, None] > 0, together.T @ items / np.maximum(size, 1)[:, None], centres)


class PCKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """K-means with penalties for broken constraints.

    Parameters
    ----------
    n_clusters : K.
    weight : w, what a broken constraint of weight 1 costs.
    n_init : starts, of which the one with the lowest J in the end is kept; the first is from neighbourhoods.
    max_iter : the most rounds of moving and averaging.
    contradictions : "accept" (the penalties decide), "refuse" or "repair".

    Attributes
    ----------
    labels_, cluster_centers_ (K, d), objective_ (J after each round), n_iter_, n_features_in_

    >>> pairs = Pairs.from_arrays([(0, 2), (1, 3)], [1, 1])  # against the distances
    >>> PCKMeans(n_clusters=2, weight=10.0).fit([[0.0], [1.0], [8.0], [9.0]], pairs=pairs).labels_
    array([0, 1, 0, 1])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {"weight": FROM_0, "n_init": COUNT, "max_iter": COUNT}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        weight: float = 1.0,
        n_init: int = 5,
        max_iter: int = 100,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.weight = weight
        self.n_init = n_init
        self.max_iter = max_iter
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        raw = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        middle = raw.mean(axis=0)
        unit = float(np.sqrt(((raw - middle) ** 2).sum(axis=1).mean())) or 1.0
        items = (raw - middle) / unit
        links = csr_array(self.weight * constraints.signed)
        group = neighbourhoods(constraints)
        ends, credit = linked_inside(constraints, group)
        together = Neighbourhoods(group, ends, np.tile(self.weight * credit[:, None], self.n_clusters))
        random = check_random_state(self.random_state)
        self.objective_, converged = [np.inf], False
        for labels, centres in starts(items, group, self.n_clusters, self.n_init, random):
            history: list[float] = []
            before = np.full_like(labels, -1)
            while len(history) < self.max_iter and (labels != before).any():
                centres = means(items, labels, centres)
                cost = _half_distances(items, centres) - links @ np.eye(self.n_clusters)[labels]  # (n, K)
                before = labels
                labels = reassign(cost, labels, links, lambda h, j, entries: links.data[entries], together)
                history.append(objective(items, constraints, labels, centres, self.weight))
            if history[-1] < self.objective_[-1]:
                self.labels_, self.cluster_centers_, self.objective_ = labels, middle + unit * centres, history
                converged = bool((labels == before).all())
        self.n_iter_ = len(self.objective_)
        warn_unless(converged, self, "max_iter")
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """The nearest centre of each row."""
        check_is_fitted(self)
        return nearest(validate_data(self, X, dtype=np.float64, reset=False), self.cluster_centers_)


def objective(items: Floats, constraints: Constraints, labels: Ints, centres: Floats, weight: float) -> float:
    """J, as it stands above."""
    must_apart = labels[constraints.must_link[:, 0]] != labels[constraints.must_link[:, 1]]
    cannot_together = labels[constraints.cannot_link[:, 0]] == labels[constraints.cannot_link[:, 1]]
    broken = constraints.must_weight[must_apart].sum() + constraints.cannot_weight[cannot_together].sum()
    return float(((items - centres[labels]) ** 2).sum() / 2 + weight * broken)


def _half_distances(items: Floats, centres: Floats) -> Floats:
    """(n, K) 1/2 ||x_i - mu_h||^2 without the part that is the same for all h."""
    return np.asarray((centres**2).sum(axis=1) / 2 - items @ centres.T)
