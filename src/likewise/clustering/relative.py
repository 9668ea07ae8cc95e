"""Relative comparisons: all that pairs imply, "i is nearer to j than to k", and what a metric pays where it is not so.

    loss(d) = gamma * n / T * sum over (i, j, k) of w_ij w_ik max(0, rho d_ij - d_ik)^2,     i = j and i != k answered

T is the sum of w_ij w_ik. With every pair of n items answered there are about n^3 / K comparisons, 16 million for 940
items of 47 classes. None is listed: with the distances from i in order, those that a d_ij violates are a run, and its
sums of 1, d and d^2 are differences of running sums. So the loss and its slopes cost one sort of the pairs.
"""

from __future__ import annotations

import numpy as np

from likewise.clustering.constraints import Constraints, Floats


class Comparisons:
    """The loss above, of the squared distances of the must-links and then the cannot-links.

    >>> given = Constraints(3, np.array([[0, 1]]), np.array([[0, 2]]), np.ones(1), np.ones(1))
    >>> loss = Comparisons(given, rho=2.0, gamma=1.0)  # one comparison: 0 is nearer to 1 than to 2
    >>> loss(np.array([1.0, 1.5])), loss(np.array([1.0, 2.0]))
    ((0.75, array([ 6., -3.])), (0.0, array([0., 0.])))
    """

    def __init__(self, given: Constraints, rho: float, gamma: float) -> None:
        links = np.concatenate([given.must_link, given.cannot_link])
        weight = np.concatenate([given.must_weight, given.cannot_weight])
        n, self.n_links, self.rho = given.n_items, len(links), rho
        seen_from = np.concatenate([links[:, 0], links[:, 1]])  # (2m,) each pair is seen from both of its items
        by_row = np.argsort(seen_from, kind="stable")
        self.row, self.pair = seen_from[by_row], np.tile(np.arange(len(links)), 2)[by_row]
        must = self.pair < len(given.must_link)
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
