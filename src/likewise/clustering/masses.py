"""Masses on sets of clusters that answers and distances agree on: the quadratic problem of CECM.

min over masses of  sum_iA cost_iA m_iA^2 + q(m),     q the plausibilities that answers are against, bilinear
q(m + D) <= q(m) + <g, D> + L / 2 ||D||^2 for L large enough; the sum is least, for each item by itself, at

m_A = max(0, (tau - c_A) / h_A),     h_A = 2 cost_A + L,   c_A = g_A - L m_A (old),   tau such that they sum to 1
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from likewise.clustering.constraints import Constraints, Floats, as_it_multiplies

STEPS, LEAST_GAIN = 50, 1e-5  # of masses, before the centres are moved


class Evidence(NamedTuple):
    """q, from the answers' weights and from which sets meet, and which are the same single cluster."""

    must: csr_array | Floats  # (n, n)
    cannot: csr_array | Floats
    full: Floats  # (F,) 1 for a set that is not empty
    single: Floats  # (F,) 1 for a set of one cluster
    meet: Floats  # (F, F) 1 for sets that share a cluster
    scale: float  # xi / w

    @classmethod
    def of(cls, given: Constraints, sets: NDArray[np.bool_], xi: float) -> Self:
        total = float(given.must_weight.sum() + given.cannot_weight.sum())
        must, cannot = as_it_multiplies(given.must), as_it_multiplies(given.cannot)
        size = sets.sum(axis=1)
        meet = (sets.astype(np.float64) @ sets.T > 0).astype(np.float64)
        return cls(must, cannot, (size > 0) * 1.0, (size == 1) * 1.0, meet, xi / total if total else 0.0)

    def gradient(self, masses: Floats) -> Floats:
        """(n, F) of q; q itself is half of its product with the masses, being bilinear."""
        if not self.scale:
            return np.zeros_like(masses)
        must = self.must @ masses
        unequal = np.outer(must @ self.full, self.full) - must * self.single
        return np.asarray(self.scale * (unequal + self.cannot @ (masses @ self.meet)))


def lower_masses(masses: Floats, cost: Floats, evidence: Evidence) -> tuple[Floats, float]:
    """Masses of a lower value, and that value."""
    gradient = evidence.gradient(masses)
    value = float((cost * masses**2).sum() + (gradient * masses).sum() / 2)
    bound = float(cost.mean())
    for _ in range(STEPS):
        while True:
            stepped = on_simplex(2 * cost + bound, gradient - bound * masses)
            change = stepped - masses
            curved = evidence.gradient(change)
            length = float((change**2).sum())
            if float((curved * change).sum()) <= bound * length * (1 + 1e-9):
                break
            bound *= 2
        masses, gradient = stepped, gradient + curved
        lower = float((cost * masses**2).sum() + (gradient * masses).sum() / 2)
        gain, value = value - lower, lower
        if gain <= LEAST_GAIN * abs(value):
            break
        bound /= 1.5
    return masses, value


def on_simplex(curvature: Floats, slope: Floats) -> Floats:
    """(n, F) The least sum_A h_A m_A^2 / 2 + c_A m_A in each row, among masses of 0 and above that sum to 1.

    >>> on_simplex(np.ones((1, 3)), np.array([[-0.5, -1.5, 1.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    order = np.argsort(slope, axis=1)
    ordered = np.take_along_axis(slope, order, axis=1)
    loose = 1 / np.take_along_axis(curvature, order, axis=1)
    level = (1 + np.cumsum(ordered * loose, axis=1)) / np.cumsum(loose, axis=1)  # tau, were so many sets in use
    used = (ordered < level).sum(axis=1)
    tau = np.take_along_axis(level, used[:, None] - 1, axis=1)
    return np.maximum((tau - slope) / curvature, 0.0)
