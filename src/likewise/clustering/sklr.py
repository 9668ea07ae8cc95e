"""SKLR: a kernel learned from relative comparisons, and kernel k-means in it.

    min over K of  D_ld(K, K_0) + loss of the comparisons  rho ||phi_i - phi_j||^2 <= ||phi_i - phi_k||^2

Amid, Gionis and Ukkonen, Semi-supervised kernel metric learning using relative comparisons, 2016 (and ECML PKDD 2015).
An item is nearer to one that it shares a class with than to one of another class, by a factor of rho; nothing is said
about how near. There each comparison is a hard constraint, met by Bregman projections one at a time, and a part of them
is drawn; here answers may be wrong, so a violation is paid for, squared, and all comparisons count: see relative.py. As
gamma grows, the kernel tends to that of the hard constraints, where these can be met. K_0 is a Gaussian kernel whose
width is that of each item's neighbourhood.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, read_constraints
from likewise.clustering.gaussian_kernel import all_distances, factor, locally_scaled
from likewise.clustering.hyperparameters import ABOVE_0, COUNT, FROM_0, SHARE, Rules, number_where, or_none
from likewise.clustering.kernel_k_means import kernel_k_means
from likewise.clustering.logdet import learn_metric
from likewise.clustering.method import Seed, check_items, warn_unless
from likewise.clustering.relative import Comparisons
from likewise.pairs import Pairs

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
    >>> found = SKLR(n_clusters=2).fit([[0.0, 0], [0, 2], [3, 0], [3, 2]], pairs=pairs)
    >>> found.labels_, found.n_comparisons_
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
        given = read_constraints(pairs, X, self.contradictions)
        features = factor(locally_scaled(all_distances(items), self.neighbour), self.energy)
        loss = Comparisons(given, self.rho, self.gamma)
        ends = np.concatenate([given.must_link, given.cannot_link]) if loss.n_comparisons else NO_PAIRS
        learned = learn_metric(
            features, ends, loss, max_iter=self.max_steps, tol=self.tol, early_stopping=self.early_stopping
        )
        warn_unless(learned.converged, self, "max_steps")
        self.features_ = features @ learned.factor
        self.n_comparisons_, self.n_iter_ = loss.n_comparisons, learned.n_iter
        kernel = self.features_ @ self.features_.T
        found = kernel_k_means(kernel, self.n_clusters, self.n_init, self.random_state)
        self.labels_, self.inertia_ = found.labels, found.objective[-1]
        return self
