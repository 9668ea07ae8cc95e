"""The constrained normalised cut of a graph in two, and its tight relaxation, minimised by RatioDCA.

    F(C) = [cut(C) + gamma (must-links cut + cannot-links not cut)] / balance(C),  balance = vol(C) vol(rest) / vol(all)

For numbers f on the items instead of sets, with edges e = (i, j) and c the weight of all cannot-links,

    F(f) = [sum_e (w_e + gamma m_e) |f_i - f_j| + gamma c (max f - min f) - gamma sum_e q_e |f_i - f_j|] / S(f),
    S(f) = 1/2 sum_i b_i |f_i - <b, f> / vol|

has the same minimum: it is F(C) at the indicator of C, and the best C = {f > t} is never worse than f. The numerator is
a difference R1 - R2 of convex functions, so RatioDCA steps to

    f <- argmin over ||f|| <= 1 of  R1(f) - <g, f>,    g in gamma dR2(f) + F(f) dS(f)

and F falls until it stops. Each |f_i - f_j|, max and -min is the greatest product with a point of an interval or of a
simplex, so that the step is the residual of a least-squares problem,

    f ~ g - A' a - (u - v),     |a_e| <= w_e + gamma m_e,   u, v >= 0 with sums of gamma c

which accelerated projected gradients (FISTA) solve without a loop over edges. Where it stops, single items change sides
while F falls, and it continues from there: our addition, because contradicting answers make RatioDCA stop early.

Rangapuram and Hein, Constrained 1-spectral clustering, AISTATS 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, triu

from likewise.clustering.constraints import Floats, Ints

Set = NDArray[np.bool_]  # (n,) the items on one side

INNER_STEPS, BETWEEN_LOOKS = 300, 25  # of FISTA, at most and before the gap is looked at
INNER_GAP = 0.5  # the duality gap beside the value: half of the way down will do
LEAST_GAIN, STEPS = 1e-6, 100  # of F in a step of RatioDCA, and how many of these at most
NOTHING = 1e-9  # a cut that costs so little cuts nothing: the graph has parts


@dataclass(frozen=True)
class Edges:
    i: Ints
    j: Ints
    weight: Floats

    @classmethod
    def of(cls, matrix: csr_array) -> Edges:
        upper = triu(matrix, 1).tocoo()
        return cls(upper.coords[0].astype(np.int64), upper.coords[1].astype(np.int64), upper.data)

    def variation(self, f: Floats) -> float:
        return float(self.weight @ np.abs(f[self.i] - f[self.j]))

    def slope(self, f: Floats) -> Floats:
        """A subgradient of the variation."""
        pull = self.weight * np.sign(f[self.i] - f[self.j])
        return np.asarray(np.bincount(self.i, pull, len(f)) - np.bincount(self.j, pull, len(f)))

    def cut_by_rank(self, rank: Ints) -> Floats:
        """(n - 1,) The weight between the first t items and the rest, for t = 1 .. n - 1."""
        low, high = np.minimum(rank[self.i], rank[self.j]), np.maximum(rank[self.i], rank[self.j])
        change = np.bincount(low, self.weight, len(rank)) - np.bincount(high, self.weight, len(rank))
        return np.asarray(np.cumsum(change)[:-1])


@dataclass(frozen=True)
class ConstrainedCut:
    """F for one graph; `graph`, `must` and `cannot` are symmetric (n, n), `volume` is b."""

    graph: csr_array
    must: csr_array
    cannot: csr_array
    volume: Floats
    gamma: float

    @cached_property
    def joined(self) -> Edges:
        return Edges.of(csr_array(self.graph + self.gamma * self.must))

    @cached_property
    def parted(self) -> Edges:
        return Edges.of(csr_array(self.gamma * self.cannot))

    @cached_property
    def incidence(self) -> csr_array:
        """(edges, n) A: A f has the differences f_i - f_j."""
        e = np.arange(len(self.joined.i))
        ends = (np.concatenate([e, e]), np.concatenate([self.joined.i, self.joined.j]))
        return coo_array((np.repeat([1.0, -1.0], len(e)), ends), shape=(len(e), len(self.volume))).tocsr()

    @cached_property
    def signed(self) -> csr_array:
        """(n, n) What two items on one side save, beside their being on two."""
        total = csr_array(self.graph + self.gamma * self.must - self.gamma * self.cannot)
        total.setdiag(0.0)
        return total

    @cached_property
    def unparted(self) -> float:
        """gamma c: what it costs to cut no cannot-link."""
        return float(self.parted.weight.sum())

    def convex_part(self, f: Floats) -> float:
        """R1."""
        return self.joined.variation(f) + self.unparted * float(np.ptp(f))

    def balance(self, f: Floats) -> float:
        """S."""
        return float(self.volume @ np.abs(f - self.volume @ f / self.volume.sum())) / 2

    def ratio(self, f: Floats) -> float:
        """F(f); infinite for a constant."""
        balance = self.balance(f)
        return (self.convex_part(f) - self.parted.variation(f)) / balance if balance > 0 else np.inf

    def direction(self, f: Floats, ratio: float) -> Floats:
        """g: a subgradient of gamma R2 + F S."""
        side = self.volume * np.sign(f - self.volume @ f / self.volume.sum())
        centred = side - self.volume * (side.sum() / self.volume.sum())
        return np.asarray(self.parted.slope(f) + ratio / 2 * centred)

    def best_set(self, f: Floats) -> tuple[Set, float]:
        """The best of the sets {f > t}, and its F."""
        order = np.argsort(f, kind="stable")
        rank = np.empty(len(f), dtype=np.int64)
        rank[order] = np.arange(len(f))
        inside = np.cumsum(self.volume[order])[:-1]
        balance = inside * (1 - inside / self.volume.sum())
        ratios = (self.joined.cut_by_rank(rank) + self.unparted - self.parted.cut_by_rank(rank)) / balance
        best = int(np.argmin(ratios))
        return rank > best, float(ratios[best])


def minimise_cut(problem: ConstrainedCut, start: Floats) -> tuple[Set, float, list[float]]:
    """The set that RatioDCA ends at, its F, and F along the way, which never rises."""
    side, value = problem.best_set(start)
    history = [value]
    while value > NOTHING:
        f, ratio = side.astype(np.float64), value
        for _ in range(STEPS):
            stepped = _step(problem, problem.direction(f, ratio))
            lower = problem.ratio(stepped) if stepped is not None else np.inf
            if stepped is None or not lower < ratio * (1 - LEAST_GAIN):
                break
            f, ratio = stepped, lower
            history.append(ratio)
            if ratio <= NOTHING:
                break
        better, lower = change_sides(problem, *problem.best_set(f))
        if not lower < value * (1 - LEAST_GAIN):
            break
        side, value = better, lower
        history.append(value)
    return side, value, history


def change_sides(problem: ConstrainedCut, side: Set, value: float) -> tuple[Set, float]:
    """The set, and its F, after single items have changed sides, the one that lowers F most first, until none does."""
    sign, volume, links = np.where(side, 1.0, -1.0), problem.volume, problem.signed
    save, inside, total = links @ sign, float(volume[side].sum()), float(volume.sum())
    while True:
        moved = inside - sign * volume  # vol(C) after each change
        balance = moved * (1 - moved / total)
        cost = value * inside * (1 - inside / total) + sign * save
        empty = np.bincount(sign > 0, minlength=2)[(sign > 0).astype(np.int64)] == 1  # what it would leave
        ratios = np.where(empty, np.inf, cost / np.where(empty, 1.0, balance))
        best = int(ratios.argmin())
        if not ratios[best] < value * (1 - LEAST_GAIN):
            return sign > 0, value
        entries = slice(links.indptr[best], links.indptr[best + 1])
        save[links.indices[entries]] -= 2 * sign[best] * links.data[entries]
        value, inside = float(ratios[best]), float(moved[best])
        sign[best] = -sign[best]


def _step(problem: ConstrainedCut, g: Floats) -> Floats | None:
    """argmin over ||f|| <= 1 of R1(f) - <g, f>, by FISTA on its dual; None where nothing is below 0."""
    matrix, weight, size = problem.incidence, problem.joined.weight, problem.unparted
    transposed = matrix.T.tocsr()
    length = (
        2.0 * float(np.bincount(np.concatenate([problem.joined.i, problem.joined.j])).max()) if len(weight) else 0.0
    )
    step = 1 / (length + 2.0)
    a, u, v = np.zeros(len(weight)), np.full(len(g), size / len(g)), np.full(len(g), size / len(g))
    a_on, u_on, v_on, momentum = a, u, v, 1.0
    f: Floats = g
    for count in range(1, INNER_STEPS + 1):
        f = g - transposed @ a_on - (u_on - v_on)
        a_new = np.clip(a_on + step * (matrix @ f), -weight, weight)
        u_new, v_new = (onto_simplex(u_on + step * f, size), onto_simplex(v_on - step * f, size)) if size else (u, v)
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / grown
        a_on, u_on, v_on = a_new + ahead * (a_new - a), u_new + ahead * (u_new - u), v_new + ahead * (v_new - v)
        a, u, v, momentum = a_new, u_new, v_new, grown
        if count % BETWEEN_LOOKS == 0:
            f = g - transposed @ a - (u - v)
            norm = float(np.sqrt(f @ f))  # minus the value of the dual
            if norm <= 1e-9 * float(np.sqrt(g @ g)):
                return None
            value = (problem.convex_part(f) - float(g @ f)) / norm
            if value < 0 and norm + value <= INNER_GAP * norm:
                break
    return f / max(float(np.sqrt(f @ f)), 1e-300)


def onto_simplex(point: Floats, size: float) -> Floats:
    """The nearest point with entries of 0 and above that sum to `size`.

    >>> onto_simplex(np.array([0.5, 1.5, -1.0]), 1.0).tolist()
    [0.0, 1.0, 0.0]
    """
    ordered = np.sort(point)[::-1]
    over = (np.cumsum(ordered) - size) / np.arange(1, len(point) + 1)
    return np.asarray(np.maximum(point - over[int((ordered > over).sum()) - 1], 0.0))
