"""SKKm: the kernel that SKMS learns from pairs, and kernel k-means in it.

    min over l of  sum_i ||phi_i - mu_{l_i}||^2  in the plane of the learned kernel

Anand, Mittal, Tuzel and Meer, Semi-supervised kernel mean shift clustering, 2014, compare with it under this name; so
do Amid, Gionis and Ukkonen, Semi-supervised kernel metric learning using relative comparisons, 2016.
"""

from __future__ import annotations

from typing import ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, read_constraints
from likewise.clustering.kernel_k_means import kernel_k_means
from likewise.clustering.method import ABOVE_0, COUNT, FROM_0, SHARE, Rules, Seed, check_items, or_none, warn_unless
from likewise.clustering.skms import learn_kernel
from likewise.pairs import Pairs


class SKKm(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Semi-supervised kernel k-means.

    Parameters
    ----------
    gamma : what a pair pays for being out of its bound, beside the kernel's change; see skms.py.
    energy : the share of the Gaussian kernel's eigenvalues that is kept.
    max_steps, tol : of the search for the kernel; the gradient's entries at the end, relative to the start.
    early_stopping : a regulariser that the publication does not have. The search goes without preconditioning and ends
        after so many steps, 50 for instance, with the kernel nearer to the Gaussian one. None: the minimum is found.

    Attributes
    ----------
    labels_, features_ (n, r) the items in the plane of the learned kernel, inertia_, width_ (2 sigma^2), n_iter_ (steps
    of the search for the kernel)

    >>> pairs = Pairs.from_links([(0, 2), (1, 3)], [(0, 1), (2, 3)])
    >>> SKKm(n_clusters=2).fit([[0.0, 0], [0, 2], [3, 0], [3, 2]], pairs=pairs).labels_
    array([0, 1, 0, 1])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {
        "gamma": ABOVE_0,
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
        gamma: float = 100.0,
        energy: float = 0.999,
        max_steps: int = 1000,
        tol: float = 1e-4,
        early_stopping: int | None = None,
        n_init: int = 10,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
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
        learned = learn_kernel(
            items, constraints, self.gamma, self.energy, self.max_steps, self.tol, self.early_stopping
        )
        warn_unless(learned.converged, self, "max_steps")
        partition = kernel_k_means(
            learned.features @ learned.features.T, self.n_clusters, self.n_init, self.random_state
        )
        self.features_, self.width_, self.n_iter_ = learned.features, learned.width, learned.n_iter
        self.labels_, self.inertia_ = partition.labels, partition.objective[-1]
        return self
