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
        self.n_links, self.rho = len(links), rho
        self.row = np.concatenate([links[:, 0], links[:, 1]])  # (2m,) each pair is seen from both of its items
        self.pair = np.tile(np.arange(len(links)), 2)
        must = np.tile(np.arange(len(links)) < len(given.must_link), 2)
        self.must, self.cannot = np.where(must, weight[self.pair], 0.0), np.where(must, 0.0, weight[self.pair])
        n = given.n_items
        total = float(np.bincount(self.row, self.must, n) @ np.bincount(self.row, self.cannot, n))
        self.n_comparisons = int(np.bincount(self.row[must], minlength=n) @ np.bincount(self.row[~must], minlength=n))
        self.scale = gamma * n / total if total > 0 else 0.0
        self.first = np.searchsorted(np.sort(self.row), np.arange(n))  # where the pairs of an item begin, once sorted

    def __call__(self, distance: Floats) -> tuple[float, Floats]:
        value = np.where(self.must > 0, self.rho, 1.0) * distance[self.pair]
        order = np.lexsort((value, self.row))
        row, value, must, cannot = self.row[order], value[order], self.must[order], self.cannot[order]
        nearer = [_before(cannot * value**power, self.first[row]) for power in range(3)]  # of the cannot-links
        beyond = [_after(must * value**power, self.first[row], row) for power in range(2)]  # of the must-links
        paid = must * (value**2 * nearer[0] - 2 * value * nearer[1] + nearer[2])
        slope = 2 * self.rho * must * (value * nearer[0] - nearer[1]) - 2 * cannot * (beyond[1] - value * beyond[0])
        by_pair = np.bincount(self.pair[order], slope, self.n_links)
        return self.scale * max(float(paid.sum()), 0.0), np.asarray(self.scale * by_pair, dtype=np.float64)


def _before(term: Floats, first: Floats) -> Floats:
    """The sum of the terms before each place, from the first of its row on."""
    running = np.concatenate([[0.0], np.cumsum(term)])
    return np.asarray(running[:-1] - running[first])


def _after(term: Floats, first: Floats, row: Floats) -> Floats:
    """The sum of the terms after each place, to the last of its row."""
    whole = np.bincount(row, term)
    return np.asarray(whole[row] - _before(term, first) - term)
