"""Agglomeration: small clusters joined by geometry and answers, both weighed by what the answers themselves say.

The small clusters are k-means of about three and eight times K centres, so that few of them hold two classes. Which
geometry suits the items, and how much it weighs against an answer, nobody has to know: every candidate joins without a
third of the answers, three times, and counts by how likely the answers that it had not seen are under it:

    log-likelihood = sum over the answers of log P(answer | in one cluster, or in two)

with the rates of the four cases counted on all of them. What they show may be looked at again in a space in which its
clusters are round, as in linear discriminant analysis. `linkage.py` has the algorithm, `geometry.py` the geometries.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from likewise.atomic import atomic
from likewise.clustering.constraints import Contradictions, Floats, Ints, read_constraints
from likewise.clustering.geometry import (
    Geometry,
    Means,
    Neighbours,
    Sphere,
    diffusion,
    nearest,
    shared_neighbours,
    whitened_within,
)
from likewise.clustering.k_means import fit_centres
from likewise.clustering.linkage import FIRST_WRONG, Odds, clusters_after, join_groups, mean_field, move_groups
from likewise.clustering.lsc import unit_rows
from likewise.clustering.method import Rules, Seed, check_items
from likewise.pairs import Pairs

Space = NDArray[np.floating[Any]]  # (n, d): items as vectors

COMPONENTS = 100  # of a space, at most
NEIGHBOURS = 10
FINE = (3, 8)  # small clusters for each cluster
STARTS = 2  # of k-means for them
MEANS, SPHERE, NEIGHBOUR = 10.0, 6.0, (1.0, 4.0)  # the strengths that are tried
FOLDS = 3
LENIENCE = 5.0  # a candidate whose log-likelihood is this much lower than the best counts 1/e of it
LEAST_WEIGHT = 0.02
SMALL = 5000  # items for which one thread is faster than several
F_CHANCE = 0.02  # a difference of F1 that is chance


@dataclass(frozen=True, eq=False)
class Candidate:
    """A geometry, and small clusters in it to begin with."""

    name: str
    geometry: Geometry
    fine: Ints  # (n,)
    n_fine: int

    def joins(self, odds: Odds, wrong: float, n_clusters: int) -> list[tuple[int, int]]:
        return join_groups(self.geometry, self.fine, self.n_fine, odds.matrix(wrong), n_clusters)

    def partition(self, odds: Odds, wrong: float, n_clusters: int) -> Ints:
        """(n,) The clusters of the items: groups are joined, then moved."""
        log_odds = odds.matrix(wrong)
        joins = join_groups(self.geometry, self.fine, self.n_fine, log_odds, n_clusters)
        joined = clusters_after(joins, self.n_fine)
        return move_groups(self.geometry, self.fine, self.n_fine, log_odds, joined, n_clusters)[self.fine]

    def posterior(self, odds: Odds, wrong: float, n_clusters: int) -> Floats:
        labels = self.partition(odds, wrong, n_clusters)
        return mean_field(self.geometry, labels, odds.matrix(wrong), n_clusters)


@dataclass(frozen=True, eq=False)
class Agglomerated:
    posterior: Floats  # (n, K)
    wrong: float  # the share of the answers taken to be wrong
    geometry: str  # the candidate that counts most
    together: NDArray[np.bool_]  # (m,) under it, whether the items of each answer are in one cluster, out of fold
    contrast: float  # how much more often answers say "same" within clusters than between, each out of fold
    contrast_error: float  # its standard error


class Agglomeration(ClusterMixin, BaseEstimator):  # type: ignore[misc]
    """Small clusters joined by geometry and answers together.

    Parameters
    ----------
    n_clusters : K.
    contradictions : "accept" (the odds decide), "refuse" or "repair".

    Attributes
    ----------
    labels_, posterior_ (n, K), geometry_ (the name of the candidate that counts most), wrong_ (the share of the answers
    taken to be wrong)

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(200, centers=4, random_state=0, cluster_std=0.5)
    >>> model = Agglomeration(n_clusters=4).fit(X, pairs=Pairs.from_labels(y, n=200))
    >>> len(np.unique(model.labels_[y == 0]))
    1
    """

    uses_pairs: ClassVar[bool] = True
    finds_n_clusters: ClassVar[bool] = False
    hyperparameters: ClassVar[Rules] = {}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        contradictions: Contradictions = "accept",
        random_state: Seed = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.contradictions = contradictions
        self.random_state = random_state

    @atomic
    def fit(self, X: ArrayLike, y: None = None, *, pairs: Pairs | None = None) -> Self:
        items = check_items(self, X)
        odds = Odds.of(read_constraints(pairs, X, self.contradictions), self.n_clusters)
        seed = int(check_random_state(self.random_state).randint(2**31))
        result = agglomerate({"items": items}, odds, self.n_clusters, seed)
        self.posterior_, self.labels_ = result.posterior, result.posterior.argmax(1)
        self.geometry_, self.wrong_ = result.geometry, result.wrong
        return self


def agglomerate(
    spaces: Mapping[str, Space], odds: Odds, n_clusters: int, seed: int, *, again: bool = False
) -> Agglomerated:
    """The clusters of n items, which are seen in one space (n, d) or several.

    With `again` these show which directions matter little, and candidates that see the items so join the others.
    """
    with threadpool_limits(1 if len(next(iter(spaces.values()))) <= SMALL else None):  # threads only wait there
        return _agglomerate(spaces, odds, n_clusters, seed, again)


def _agglomerate(spaces: Mapping[str, Space], odds: Odds, n_clusters: int, seed: int, again: bool) -> Agglomerated:
    tried = list(candidates(spaces, n_clusters, seed))
    together = [out_of_fold(candidate, odds, n_clusters, seed) for candidate in tried]
    result = combined(tried, together, odds, n_clusters)
    if again and len(odds):
        rows = next(one.geometry.rows for one in tried if isinstance(one.geometry, Means))  # of the first space
        more = list(candidates({"within": whitened_within(rows, result.posterior)}, n_clusters, seed))
        together += [out_of_fold(candidate, odds, n_clusters, seed) for candidate in more]
        result = combined(tried + more, together, odds, n_clusters)
    return result


def combined(tried: list[Candidate], together: list[NDArray[np.bool_]], odds: Odds, n_clusters: int) -> Agglomerated:
    """Candidates have a say as far as held-out answers are likely under them: one alone is often lucky."""
    score = f_score if odds.is_same_heavy else log_likelihood
    scores = np.array([score(one, odds) for one in together])
    weights = np.exp((scores - scores.max()) / LENIENCE)
    best = int(weights.argmax())
    first = tried[best].posterior(odds, FIRST_WRONG, n_clusters)
    wrong = odds.share_wrong(first.argmax(1))
    total = np.zeros_like(first)
    for candidate, weight in zip(tried, weights, strict=True):
        if weight > LEAST_WEIGHT:
            total += weight * aligned(candidate.posterior(odds, wrong, n_clusters), first)
    posterior = total / total.sum(axis=1, keepdims=True)
    return Agglomerated(posterior, wrong, tried[best].name, together[best], *contrast(together[best], odds))


def contrast(together: NDArray[np.bool_], odds: Odds) -> tuple[float, float]:
    """How much more often answers say "same" within clusters than between, and its standard error."""
    counts = same_of_all(together, odds)
    within, between = (same / everything for same, everything in counts)
    variance = sum(
        rate * (1 - rate) / everything for rate, (_, everything) in zip((within, between), counts, strict=True)
    )
    return float(within - between), float(np.sqrt(variance))


def candidates(spaces: Mapping[str, Space], n_clusters: int, seed: int, *, starts: int = STARTS) -> Iterator[Candidate]:
    """Each space as it is, on the sphere, by a walk among neighbours, and as their graph, with small clusters in it."""
    for name, space in spaces.items():
        n = len(space)
        rows = principal_rows(space, seed)
        graph = shared_neighbours(nearest(rows, NEIGHBOURS))
        places = {
            "diffusion": diffusion(graph, 2 * n_clusters),  # first: without answers it was found to be the best
            "directions": unit_rows(rows[:, : max(50, 2 * n_clusters)]),
            "means": rows,
        }
        for n_fine in [times * n_clusters for times in FINE if times * n_clusters <= n // 3] or [n]:
            for start in range(starts if n_fine < n else 1):
                for place, points in places.items():
                    fine = small_clusters(points, n_fine, n_clusters, seed + start)
                    count = int(fine.max()) + 1
                    around = Means(points, MEANS) if place == "means" else Sphere(points, SPHERE)
                    yield Candidate(f"{name}, {place}", around, fine, count)
                    if place == "diffusion":
                        for strength in NEIGHBOUR:
                            yield Candidate(f"{name}, neighbours", Neighbours(graph, strength), fine, count)


def principal_rows(space: Space, seed: int) -> Floats:
    """(n, d) The items by their first principal components, a hundred at most."""
    kept = min(COMPONENTS, len(space) - 1, space.shape[1])
    with np.errstate(invalid="ignore"):  # items that are all the same have no variance to divide by
        rows = PCA(kept, svd_solver="randomized", random_state=seed).fit_transform(space)
    return np.asarray(rows, dtype=np.float64)


def small_clusters(points: Floats, count: int, least: int, seed: int) -> Ints:
    """(n,) K-means with about so many centres; each item is one of its own where they are few, or fall together."""
    n = len(points)
    if count < n:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # some points are the same
            fine = np.unique(fit_centres(points, count, 1, seed).labels_, return_inverse=True)[1]
        if fine.max() + 1 >= least:
            return np.asarray(fine, dtype=np.int64)
    return np.arange(n)


def out_of_fold(candidate: Candidate, odds: Odds, n_clusters: int, seed: int) -> NDArray[np.bool_]:
    """(m,) Whether the two items of each answer are in one cluster of a partition that was made without the answer."""
    fold = np.random.default_rng(seed).permutation(len(odds)) % FOLDS
    together = np.zeros(len(odds), dtype=np.bool_)
    for out in (fold == number for number in range(FOLDS if len(odds) else 0)):
        labels = candidate.partition(odds.select(~out), FIRST_WRONG, n_clusters)
        together[out] = labels[odds.ends[out, 0]] == labels[odds.ends[out, 1]]
    return together


def log_likelihood(together: NDArray[np.bool_], odds: Odds) -> float:
    """Of the answers, where `together` says which pairs are in one cluster; two rates are counted on them."""
    total = 0.0
    for same, everything in same_of_all(together, odds):
        rates = np.array([same, everything - same]) / everything
        total += float((np.array([same, everything - same]) - 0.5) @ np.log(rates))
    return total


def f_score(together: NDArray[np.bool_], odds: Odds) -> float:
    """F1 of "in one cluster" as a guess of "same", in units in which chance is `LENIENCE`.

    Where most answers were asked for because "same" was likely, it is a better judge than the likelihood, in which a
    "same" that is torn apart costs far more than a "different" that is put together: merged classes would look good.
    """
    (same, within), (same_between, _) = same_of_all(together, odds)
    return LENIENCE / F_CHANCE * 2 * same / (same + within + same_between)


def same_of_all(together: NDArray[np.bool_], odds: Odds) -> list[tuple[float, float]]:
    """How many answers say "same", and how many there are, within clusters and between; half a one is added to each."""
    weight, same = odds.weight, odds.credit > 0
    return [(weight[place & same].sum() + 0.5, weight[place].sum() + 1) for place in (together, ~together)]


def aligned(posterior: Floats, like: Floats) -> Floats:
    """The same with its clusters in the order in which they agree best with another one (n, K)."""
    return np.asarray(posterior[:, linear_sum_assignment(-(like.T @ posterior))[1]])
