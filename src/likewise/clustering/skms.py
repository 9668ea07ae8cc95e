"""SKMS: semi-supervised kernel mean shift, which finds the number of clusters by itself; SKKm: k-means in its kernel.

1. A Gaussian kernel is bent until the answered pairs are near or far enough, below.
2. In its plane each item climbs the density to a mode, by mean shift. Items of one mode are a cluster.

Anand, Mittal, Tuzel and Meer, Semi-supervised kernel mean shift clustering, IEEE TPAMI 36 (6), 2014. The reach of an
item is the distance to its k-th neighbour, where k is the median, over the must-links, of the place that the one item
has among the neighbours of the other. Two modes are one where they are as near as a must-link should be.

Our addition: only credible must-links are asked for k, those up to the place where must-links outweigh cannot-links the
most. Beyond it a must-link is likelier to be wrong than right. The publication has right answers, and asks all. Where
many are wrong, as among all pairs of a predicted similarity, the median over all reaches into other clusters.

SKKm, with which the publication compares under this name (so do Amid, Gionis and Ukkonen, 2016), is kernel k-means:

    min over l of  sum_i ||phi_i - mu_{l_i}||^2  in the plane of the learned kernel
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin

from likewise.atomic import atomic
from likewise.clustering.constraints import Constraints, Contradictions, Floats, Ints, read_constraints
from likewise.clustering.distances import all_distances, factor, gaussian, median_distance, squared_distances
from likewise.clustering.itml import Bounds, learn_metric
from likewise.clustering.k_means import kernel_k_means
from likewise.clustering.method import ABOVE_0, COUNT, FROM_0, SHARE, Rules, Seed, check_items, or_none, warn_unless
from likewise.pairs import Pairs

# The kernel of SKMS: a Gaussian kernel, bent until the answered pairs are as near or as far as they should be.
#
#     min over K of  D_ld(K, K_0) + gamma * sum_c weight_c D_ld(xi_c, bound_c)
#     with  ||phi_i - phi_j||^2 <= xi_c for a must-link,  >= xi_c for a cannot-link
#
# Anand, Mittal, Tuzel and Meer, Semi-supervised kernel mean shift clustering, 2014. As there, the bound of must-links
# is the 1st percentile of all squared distances and 0.05 at most, that of cannot-links the 99th and 1.95 at least;
# gamma is 100; and sigma is the one whose distances of answered pairs diverge least from their bounds, of some that are
# up to half the median distance. K_0 keeps 99.9 % of the kernel's eigenvalues, where they keep 99 %: a direction that
# is short in K_0 may be the one that parts two classes. And all pairs are taken at once (see itml.py), so that none
# has to be left out.

NEAR, FAR = 0.05, 1.95  # of 2, the greatest squared distance there is in the plane of a Gaussian kernel
NOTHING = 1e-9  # no metric moves items apart that are at one place in the plane
WIDTHS = np.geomspace(0.05, 0.5, 9)  # 2 sigma^2, in median squared distances: a wider kernel is hardly more than linear


class LearnedKernel(NamedTuple):
    features: Floats  # (n, r) Z, the items in the plane of the learned kernel Z Z'
    near: float  # the bounds on squared distances
    far: float
    width: float  # 2 sigma^2 of the kernel that was learned from
    n_iter: int  # steps of the search
    converged: bool


def learn_kernel(
    items: Floats,
    constraints: Constraints,
    gamma: float = 100.0,
    energy: float = 0.999,
    max_steps: int = 1000,
    tol: float = 1e-4,
    early_stopping: int | None = None,
) -> LearnedKernel:
    """The items as the learned kernel has them; with no pairs, as the Gaussian kernel has them.

    >>> constraints = Constraints(4, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> features = learn_kernel(np.array([[0.0], [1.0], [2.0], [3.0]]), constraints, gamma=1e4).features
    >>> bool(((features[0] - features[1]) ** 2).sum() < 0.06), bool(((features[0] - features[2]) ** 2).sum() > 1.9)
    (True, True)
    """
    squared = all_distances(items)
    width = best_width(squared, constraints)
    kernel = gaussian(squared, width)
    distances = 2 - 2 * kernel[np.triu_indices_from(kernel, 1)]
    first, last = np.percentile(distances, [1, 99])
    near, far = min(float(first), NEAR), max(float(last), FAR)

    features = factor(kernel, energy)
    ends = np.concatenate([constraints.must_link, constraints.cannot_link])
    sign = np.repeat([1.0, -1.0], [len(constraints.must_link), len(constraints.cannot_link)])
    weight = np.concatenate([constraints.must_weight, constraints.cannot_weight])
    near = near if near > 0 else NEAR  # more than 1 % of the pairs are of equal items
    apart = squared_distances(features, features, *ends.T) > NOTHING
    ends, sign, weight = ends[apart], sign[apart], weight[apart]
    bounds = Bounds(sign, np.where(sign > 0, near, far), weight, gamma)
    metric = learn_metric(features, ends, bounds, max_iter=max_steps, tol=tol, early_stopping=early_stopping)
    return LearnedKernel(features @ metric.factor, near, far, width, metric.n_iter, metric.converged)


def best_width(squared: Floats, constraints: Constraints) -> float:
    """The width whose distances of answered pairs diverge least, by D_ld, from NEAR and FAR; 2 sigma^2.

    >>> squared = all_distances(np.array([[0.0], [1.0], [9.0]]))
    >>> constraints = Constraints(3, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> round(best_width(squared, constraints) / 64, 2)  # median squared distance: 64
    0.5
    """
    median = median_distance(squared)
    if not len(constraints):
        return median
    costs = [_divergence(squared, constraints, multiple * median) for multiple in WIDTHS]
    return float(WIDTHS[int(np.argmin(costs))] * median)


def _divergence(squared: Floats, constraints: Constraints, width: float) -> float:
    total = 0.0
    for links, weight, bound in (
        (constraints.must_link, constraints.must_weight, NEAR),
        (constraints.cannot_link, constraints.cannot_weight, FAR),
    ):
        ratio = np.maximum(2 - 2 * gaussian(squared[links[:, 0], links[:, 1]], width), 1e-12) / bound
        total += float(weight @ (ratio - 1 - np.log(ratio)))
    return total


# Mean shift with a reach of its own for each item: every item climbs to a mode of the density, and modes are clusters.
#
#     f(y) = sum_j k(||y - z_j||^2 / h_j^2),   k(u) = exp(-u / 2) - exp(-1 / 2) where u <= 1, else 0
#     y   <- sum_j w_j z_j / sum_j w_j,        w_j = exp(-u_j / 2) / h_j^2 where u_j <= 1, else 0
#
# k is the truncated normal profile, and h_j the distance from item j to a neighbour of some number. Comaniciu, Ramesh
# and Meer, The variable bandwidth mean shift and data-driven scale selection, 2001. The factor h_j^-r that makes each
# bump a density is left out: in the hundreds of dimensions of a kernel it would leave all weight to the item with the
# smallest reach. f never falls on the way.

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


class SKMS(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Semi-supervised kernel mean shift.

    Parameters
    ----------
    n_clusters : not used, since the method finds it; it may be given, as to every other method.
    neighbours : k, which sets the reach of the items; None: found from the must-links.
    gamma, energy, max_steps, tol, early_stopping : as for SKKm.

    Attributes
    ----------
    labels_, n_clusters_, neighbours_, features_ (n, r) the items in the plane of the learned kernel, width_ (2
    sigma^2), n_iter_ (steps of the search for the kernel)

    >>> pairs = Pairs.from_links([(0, 1), (1, 2), (0, 2), (3, 4)], [(2, 3)])
    >>> model = SKMS().fit([[0.0], [1], [2], [3], [4]], pairs=pairs)
    >>> model.n_clusters_, model.labels_.tolist()
    (2, [0, 0, 0, 1, 1])
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = True
    hyperparameters: ClassVar[Rules] = {
        "n_clusters": or_none(COUNT),
        "neighbours": or_none(COUNT),
        "gamma": ABOVE_0,
        "energy": SHARE,
        "max_steps": COUNT,
        "tol": FROM_0,
        "early_stopping": or_none(COUNT),
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        neighbours: int | None = None,
        gamma: float = 100.0,
        energy: float = 0.999,
        max_steps: int = 1000,
        tol: float = 1e-4,
        early_stopping: int | None = None,
        contradictions: Contradictions = "accept",
    ) -> None:
        self.n_clusters = n_clusters
        self.neighbours = neighbours
        self.gamma = gamma
        self.energy = energy
        self.max_steps = max_steps
        self.tol = tol
        self.early_stopping = early_stopping
        self.contradictions = contradictions

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        constraints = read_constraints(pairs, X, self.contradictions)
        learned = learn_kernel(
            items, constraints, self.gamma, self.energy, self.max_steps, self.tol, self.early_stopping
        )
        warn_unless(learned.converged, self, "max_steps")
        squared = all_distances(learned.features)
        self.neighbours_ = usual_place(squared, constraints) if self.neighbours is None else self.neighbours
        modes = shift_to_modes(learned.features, reaches(squared, self.neighbours_), merge=float(np.sqrt(learned.near)))
        self.features_, self.width_, self.n_iter_ = learned.features, learned.width, learned.n_iter
        self.labels_, self.n_clusters_ = modes.labels, int(modes.labels.max()) + 1
        return self


def usual_place(squared: Floats, constraints: Constraints) -> int:
    """The median, over credible must-links both ways, of how many items are as near to the one as the other is.

    >>> squared = all_distances(np.array([[0.0], [1.0], [3.0], [7.0]]))
    >>> usual_place(squared, Constraints(4, np.array([[0, 2]]), np.empty((0, 2), int), np.ones(1), np.empty(0)))
    2
    """
    if not len(constraints.must_link):
        return max(1, round(float(np.sqrt(len(squared)))))  # a usual choice where nothing is known
    place = squared.argsort(axis=1, kind="stable").argsort(axis=1)  # 0 is the item itself
    must, cannot = (
        np.concatenate([place[ends[:, 0], ends[:, 1]], place[ends[:, 1], ends[:, 0]]])
        for ends in (constraints.must_link, constraints.cannot_link)
    )
    n = len(squared)
    pro = np.bincount(must, np.tile(constraints.must_weight, 2), n)
    contra = np.bincount(cannot, np.tile(constraints.cannot_weight, 2), n)
    last = n - 1 - int(np.cumsum(pro - contra)[::-1].argmax())  # of equals, the farthest
    credible = must[must <= last]
    return max(1, round(float(np.median(credible if len(credible) else must))))


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
