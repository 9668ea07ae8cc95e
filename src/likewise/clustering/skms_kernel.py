"""The kernel of SKMS: a Gaussian kernel, bent until the answered pairs are as near or as far as they should be.

    min over K of  D_ld(K, K_0) + gamma * sum_c weight_c D_ld(xi_c, bound_c)
    with  ||phi_i - phi_j||^2 <= xi_c for a must-link,  >= xi_c for a cannot-link

Anand, Mittal, Tuzel and Meer, Semi-supervised kernel mean shift clustering, 2014. As there, the bound of must-links is
the 1st percentile of all squared distances and 0.05 at most, that of cannot-links the 99th and 1.95 at least; gamma is
100; and sigma is the one whose distances of answered pairs diverge least from their bounds, of some that are up to half
the median distance. K_0 keeps 99.9 % of the kernel's eigenvalues, where they keep 99 %: a direction that is short in
K_0 may be the one that parts two classes. And all pairs are taken at once (see logdet.py), so that none has to be left
out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.clustering.constraints import Constraints, Floats
from likewise.clustering.distances import all_distances, factor, gaussian, median_distance, squared_distances
from likewise.clustering.logdet import Bounds, learn_metric

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
    given: Constraints,
    gamma: float = 100.0,
    energy: float = 0.999,
    max_steps: int = 1000,
    tol: float = 1e-4,
    early_stopping: int | None = None,
) -> LearnedKernel:
    """The items as the learned kernel has them; with no pairs, as the Gaussian kernel has them.

    >>> given = Constraints(4, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> features = learn_kernel(np.array([[0.0], [1.0], [2.0], [3.0]]), given, gamma=1e4).features
    >>> bool(((features[0] - features[1]) ** 2).sum() < 0.06), bool(((features[0] - features[2]) ** 2).sum() > 1.9)
    (True, True)
    """
    squared = all_distances(items)
    width = best_width(squared, given)
    kernel = gaussian(squared, width)
    distances = 2 - 2 * kernel[np.triu_indices_from(kernel, 1)]
    first, last = np.percentile(distances, [1, 99])
    near, far = min(float(first), NEAR), max(float(last), FAR)

    features = factor(kernel, energy)
    ends = np.concatenate([given.must_link, given.cannot_link])
    sign = np.repeat([1.0, -1.0], [len(given.must_link), len(given.cannot_link)])
    weight = np.concatenate([given.must_weight, given.cannot_weight])
    near = near if near > 0 else NEAR  # more than 1 % of the pairs are of equal items
    apart = squared_distances(features, features, *ends.T) > NOTHING
    ends, sign, weight = ends[apart], sign[apart], weight[apart]
    bounds = Bounds(sign, np.where(sign > 0, near, far), weight, gamma)
    found = learn_metric(features, ends, bounds, max_iter=max_steps, tol=tol, early_stopping=early_stopping)
    return LearnedKernel(features @ found.factor, near, far, width, found.n_iter, found.converged)


def best_width(squared: Floats, given: Constraints) -> float:
    """The width whose distances of answered pairs diverge least, by D_ld, from NEAR and FAR; 2 sigma^2.

    >>> squared = all_distances(np.array([[0.0], [1.0], [9.0]]))
    >>> given = Constraints(3, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> round(best_width(squared, given) / 64, 2)  # median squared distance: 64
    0.5
    """
    median = median_distance(squared)
    if not len(given):
        return median
    costs = [_divergence(squared, given, multiple * median) for multiple in WIDTHS]
    return float(WIDTHS[int(np.argmin(costs))] * median)


def _divergence(squared: Floats, given: Constraints, width: float) -> float:
    total = 0.0
    for links, weight, bound in (
        (given.must_link, given.must_weight, NEAR),
        (given.cannot_link, given.cannot_weight, FAR),
    ):
        ratio = np.maximum(2 - 2 * gaussian(squared[links[:, 0], links[:, 1]], width), 1e-12) / bound
        total += float(weight @ (ratio - 1 - np.log(ratio)))
    return total
