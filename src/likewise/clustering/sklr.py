"""SKLR: a kernel learned from relative comparisons, and kernel k-means in it.

    min over K of  D_ld(K, K_0) + loss of the comparisons  rho ||phi_i - phi_j||^2 <= ||phi_i - phi_k||^2

Amid, Gionis and Ukkonen, Semi-supervised kernel metric learning using relative comparisons, 2016 (and ECML PKDD 2015).
An item is nearer to one that it shares a class with than to one of another class, by a factor of rho; nothing is said
about how near. There each comparison is a hard constraint, met by Bregman projections one at a time, and a part of them
is drawn; here answers may be wrong, so a violation is paid for, squared, and all comparisons count: `Comparisons`. As
gamma grows, the kernel tends to that of the hard constraints, where these can be met. K_0 is a Gaussian kernel whose
width is that of each item's neighbourhood.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, read_constraints
from likewise.clustering.distances import all_distances, factor, locally_scaled
from likewise.clustering.itml import learn_metric
from likewise.clustering.k_means import kernel_k_means
from likewise.clustering.method import (
    ABOVE_0,
    COUNT,
    FROM_0,
    SHARE,
    Rules,
    Seed,
    check_items,
    number_where,
    or_none,
    warn_unless,
)
from likewise.pairs import Pairs


# Relative comparisons: all that pairs imply, "i is nearer to j than to k", and what a metric pays where it is not so.
#
#     loss(d) = gamma * n / T * sum over (i, j, k) of w_ij w_ik max(0, rho d_ij - d_ik)^2,     i = j and i != k answered
#
# T is the sum of w_ij w_ik. With every pair of n items answered there are about n^3 / K comparisons, 16 million for 940
# items of 47 classes. None is listed: with the distances from i in order, those that a d_ij violates are a run, and its
# sums of 1, d and d^2 are differences of running sums. So the loss and its slopes cost one sort of the pairs.
class Comparisons:
    """The loss above, of the squared distances of the must-links and then the cannot-links.

    >>> constraints = Constraints(3, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> loss = Comparisons(constraints, rho=2.0, gamma=1.0)  # one comparison: 0 is nearer to 1 than to 2
    >>> loss(np.array([1.0, 1.5])), loss(np.array([1.0, 2.0]))
    ((0.75, array([ 6., -3.])), (0.0, array([0., 0.])))
    """

    def __init__(self, constraints: Constraints, rho: float, gamma: float) -> None:
        links = np.concatenate([constraints.must_link, constraints.cannot_link])
        weight = np.concatenate([constraints.must_weight, constraints.cannot_weight])
        n, self.n_links, self.rho = constraints.n_items, len(links), rho
        seen_from = np.concatenate([links[:, 0], links[:, 1]])  # (2m,) each pair is seen from both of its items
        by_row = np.argsort(seen_from, kind="stable")
        self.row, self.pair = seen_from[by_row], np.tile(np.arange(len(links)), 2)[by_row]
        must = self.pair < len(constraints.must_link)
        self.must, self.cannot = np.where(must, weight[self.pair], 0.0), np.where(must, 0.0, weight[self.pair])
        self.factor = np.where(must, rho, 1.0)
        self.count = np.bincount(self.row, minlength=n)
        self.stop = np.cumsum(self.count)  # where the pairs of each item end
        total = float(np.bincount(self.row, self.must, n) @ np.bincount(self.row, self.cannot, n))
        self.n_comparisons = int(np.bincount(self.row[must], minlength=n) @ np.bincount(self.row[~must], minlength=n))
        self.scale = gamma * n / total if total > 0 else 0.0

    def __call__(self, distance: Floats) -> tuple[float, Floats]:
        value = self.factor * distance[self.pair]
        above = max(2 * float(value.max(initial=0.0)), np.finfo(np.float64).tiny)
        order = np.argsort(self.row + value / above)  # by row and then by value: what rounding makes equal pays alike
        value, must, cannot = value[order], self.must[order], self.cannot[order]
        weighted, pulled = cannot * value, must * value
        nearer = [self._before(term) for term in (cannot, weighted, weighted * value)]  # of the cannot-links
        beyond = [self._after(term) for term in (must, pulled)]  # of the must-links
        paid = pulled * (value * nearer[0] - 2 * nearer[1]) + must * nearer[2]
        slope = 2 * self.rho * (pulled * nearer[0] - must * nearer[1]) - 2 * (cannot * beyond[1] - weighted * beyond[0])
        by_pair = np.bincount(self.pair[order], slope, self.n_links)
        return self.scale * max(float(paid.sum()), 0.0), np.asarray(self.scale * by_pair, dtype=np.float64)

    def _before(self, term: Floats) -> Floats:
        """The sum of the terms before each place, from the first of its row on."""
        running = np.concatenate([[0.0], np.cumsum(term)])
        return np.asarray(running[:-1] - np.repeat(running[self.stop - self.count], self.count))

    def _after(self, term: Floats) -> Floats:
        """The sum of the terms after each place, to the last of its row."""
        running = np.concatenate([[0.0], np.cumsum(term)])
        return np.asarray(np.repeat(running[self.stop], self.count) - running[1:])


NO_PAIRS = np.empty((0, 2), dtype=np.int64)  # that could be compared


class SKLR(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Semi-supervised kernel learning from relative comparisons.

    Parameters
    ----------
    rho : how many times farther (in squared distance) an item of another class should be than one of the same.
    gamma : what the violated comparisons pay, on average, beside the kernel's change.
    neighbour : the number of the neighbour that sets the width of the kernel around an item.
    energy : the share of the Gaussian kernel's eigenvalues that is kept.
    max_steps, tol : of the search for the kernel; the gradient's entries at the end, relative to the start.
    early_stopping : a regulariser that the publication does not have. The search goes without preconditioning and ends
        after so many steps, 50 for instance, with the kernel nearer to the Gaussian one. None: the minimum is found.

    Attributes
    ----------
    labels_, features_ (n, r) the items in the plane of the learned kernel, inertia_, n_comparisons_, n_iter_ (steps of
    the search for the kernel)

    >>> pairs = Pairs.from_links([(0, 2), (1, 3)], [(0, 1), (2, 3)])
    >>> model = SKLR(n_clusters=2).fit([[0.0, 0], [0, 2], [3, 0], [3, 2]], pairs=pairs)
    >>> model.labels_, model.n_comparisons_
    (array([0, 1, 0, 1]), 4)
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "rho": number_where("of 1 or more", lambda rho: rho >= 1),
        "gamma": ABOVE_0,
        "neighbour": COUNT,
        "energy": SHARE,
        "max_steps": COUNT,
        "tol": FROM_0,
        "early_stopping": or_none(COUNT),
        "n_init": COUNT,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        rho: float = 2.0,
        gamma: float = 100.0,
        neighbour: int = 7,
        energy: float = 0.999,
        max_steps: int = 1000,
        tol: float = 1e-4,
        early_stopping: int | None = None,
        n_init: int = 10,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.rho = rho
        self.gamma = gamma
        self.neighbour = neighbour
        self.energy = energy
        self.max_steps = max_steps
        self.tol = tol
        self.early_stopping = early_stopping
        self.n_init = n_init
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        features = factor(locally_scaled(all_distances(items), self.neighbour), self.energy)
        loss = Comparisons(constraints, self.rho, self.gamma)
        ends = np.concatenate([constraints.must_link, constraints.cannot_link]) if loss.n_comparisons else NO_PAIRS
        learned = learn_metric(
            features, ends, loss, max_iter=self.max_steps, tol=self.tol, early_stopping=self.early_stopping
        )
        warn_unless(learned.converged, self, "max_steps")
        self.features_ = features @ learned.factor
        self.n_comparisons_, self.n_iter_ = loss.n_comparisons, learned.n_iter
        kernel = self.features_ @ self.features_.T
        partition = kernel_k_means(kernel, self.n_clusters, self.n_init, self.random_state)
        self.labels_, self.inertia_ = partition.labels, partition.objective[-1]
        return self
