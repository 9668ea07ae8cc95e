"""Grouping around anchors: items whose classes are known keep them, and the others join them or form new clusters.

The labelled items of a class are one group from the start, and two such groups are never joined. So known classes,
answers and geometry are one problem (`linkage.py`): labels are links that are certain, answers are odds, and

    q_i = softmax_k(geometry.logits_ik + sum_j w_ij q_jk),      q_i fixed where i is labelled

Cluster c < C is known class c; the clusters from C on are new. Without anchors it is the same mechanism with no answers
from labels. Which geometries count is decided by known classes, of which the grouping is told nothing for that.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.special import softmax
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from likewise.clustering.agglomeration import (
    LEAST_WEIGHT,
    LENIENCE,
    MEANS,
    Candidate,
    Space,
    candidates,
    log_likelihood,
    out_of_fold,
    principal_rows,
)
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.correction import model_of_partition, scaled
from likewise.clustering.geometry import Means
from likewise.clustering.k_means import fit_centres
from likewise.clustering.linkage import FIRST_WRONG, Odds
from likewise.evaluation import accuracy, ari, confusion, match_outputs

CERTAIN = 1e3  # log-odds of a label
APART = -1e6  # what joining two known classes would be worth
POINTS = 0.01  # of ACC on known classes that make a geometry count 1/e
DRAWS, OF_CLASSES, OF_ITEMS = 5, 2 / 3, 0.8  # of known classes, on which geometries are judged
K_MEANS = "items, k-means"
REFINED = 256  # principal components that a linear model of labels and clusters sees
K_MEANS_STARTS = 10
LARGE = 4000  # items from which on one start of k-means is made in place of two


@dataclass(frozen=True, eq=False)
class AnchoredOdds(Odds):
    """Answers, and labels as links that are certain."""

    anchors: Ints = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (n,) its known class, or -1

    def matrix(self, wrong: float) -> csr_array:
        from_answers = super().matrix(wrong)
        labelled = np.flatnonzero(self.anchors >= 0)
        if not len(labelled):
            return from_answers
        first = np.unique(self.anchors[labelled], return_index=True)[1]
        stands = labelled[first]  # one item for each known class
        one, other = np.nonzero(~np.eye(len(stands), dtype=np.bool_))
        values = np.concatenate([np.full(len(labelled), CERTAIN), np.full(len(one), APART)])
        places = np.concatenate([labelled, stands[one]]), np.concatenate([labelled, stands[other]])
        return csr_array(from_answers + csr_array((values, places), shape=from_answers.shape))


@dataclass(frozen=True, eq=False)
class Grouped:
    posterior: Floats  # (n, K)
    opinions: Ints  # (n, R) the clusters of each candidate that counts
    geometry: str  # of the candidate that counts most


def group_around(
    space: Space, anchors: Ints, odds: Odds, n_clusters: int, seed: int, prior: Mapping[str, float] | None = None
) -> Grouped:
    """K clusters of items (n, d), of which some have a known class (n,), else -1.

    `prior` is what each geometry is worth, as `judge_geometries` has it.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(300, centers=5, n_features=8, random_state=0)
    >>> anchors = np.where((y < 2) & (np.arange(300) % 2 == 0), y, -1)
    >>> grouping = group_around(X, anchors, Odds(300, np.empty((0, 2), int), np.empty(0)), 5, 0)
    >>> bool((grouping.posterior.argmax(1)[y < 2] == y[y < 2]).all())
    True
    """
    links = AnchoredOdds(odds.n_items, odds.ends, odds.credit, odds.n_classes, anchors=anchors)
    starts = 1 if len(space) > LARGE else 2
    if (anchors >= 0).any():  # k-means has as many clusters as are wanted, and leaves nothing to join with the anchors
        tried = [anchored(one, anchors) for one in candidates({"items": space}, n_clusters, seed, starts=starts)]
    else:
        tried = list(geometries(space, n_clusters, seed, starts))
    names = [one.name for one in tried]
    often = np.log([names.count(name) for name in names])  # each geometry has one vote, however many candidates
    scores = np.array([(prior or {}).get(name, 0.0) for name in names]) * LENIENCE - often * LENIENCE
    if len(odds):
        scores += [log_likelihood(out_of_fold(one, links, n_clusters, seed), links) for one in tried]
    weights = np.exp((scores - scores.max()) / LENIENCE)
    tried = [one for one, weight in zip(tried, weights, strict=True) if weight > LEAST_WEIGHT]
    weights = weights[weights > LEAST_WEIGHT]
    wrong, n_fixed = FIRST_WRONG, int(anchors.max(initial=-1)) + 1
    if len(odds):
        wrong = links.share_wrong(tried[int(weights.argmax())].posterior(links, wrong, n_clusters).argmax(1))
    posteriors = [one.posterior(links, wrong, n_clusters) for one in tried]
    middle = most_agreed([posterior.argmax(1) for posterior in posteriors], weights)
    posteriors = [aligned(posterior, posteriors[middle], n_fixed) for posterior in posteriors]
    total = np.tensordot(weights, posteriors, axes=1)
    opinions = np.stack([posterior.argmax(1) for posterior in posteriors], axis=1)
    return Grouped(total / total.sum(axis=1, keepdims=True), opinions, tried[int(weights.argmax())].name)


def refined(space: Space, anchors: Ints, posterior: Floats, seed: int) -> Floats:
    """(n, K) The posterior by a linear model that is taught labels and clusters, each item as far as it is sure.

    A cluster lies around a mean; what tells labelled classes apart tells more of the border between these and new ones.
    """
    kept = min(REFINED, len(space) - 1, space.shape[1])
    rows = scaled(PCA(kept, svd_solver="randomized", random_state=seed).fit_transform(space).astype(np.float64))
    labelled = anchors >= 0
    taught = posterior.copy()
    taught[labelled] = np.eye(posterior.shape[1])[anchors[labelled]]
    again = softmax(rows @ model_of_partition(rows, taught), axis=1)
    again[labelled] = taught[labelled]
    return np.asarray(again)


def most_agreed(partitions: list[Ints], weights: Floats) -> int:
    """The partition (n,) that the others agree with most (ARI, weighed): their clusters are matched with those of it.

    Matched with a partition that has two classes in one cluster, the others would put these classes there by chance.
    """
    k = 1 + max(int(one.max()) for one in partitions)
    agree = [[ari(confusion(one, other, k, k)) for other in partitions] for one in partitions]
    return int(np.argmax(np.round(np.array(agree) @ weights, 9)))  # rounded, as equal sums may differ in the last bit


@dataclass(frozen=True, eq=False)
class KMeansCandidate(Candidate):
    """K-means itself. Without answers its clusters stay, so that the result is not below it where it has the vote."""

    def posterior(self, odds: Odds, wrong: float, n_clusters: int) -> Floats:
        if len(odds):
            return super().posterior(odds, wrong, n_clusters)
        return np.asarray(softmax(self.geometry.logits(np.eye(n_clusters)[self.fine]), axis=1))


def geometries(space: Space, n_clusters: int, seed: int, starts: int) -> Iterator[Candidate]:
    """Those of `agglomerate`, and k-means itself: where classes are round and equally wide, nothing beats it."""
    yield from candidates({"items": space}, n_clusters, seed, starts=starts)
    rows = principal_rows(space, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some points are the same
        labels = np.unique(fit_centres(rows, n_clusters, K_MEANS_STARTS, seed).labels_, return_inverse=True)[1]
    if int(labels.max()) + 1 == n_clusters:
        yield KMeansCandidate(K_MEANS, Means(rows, MEANS), labels, n_clusters)


def anchored(candidate: Candidate, anchors: Ints) -> Candidate:
    """The same with the labelled items of each class as one group; these come first, in the order of the classes."""
    n_known = int(anchors.max(initial=-1)) + 1
    fine = np.unique(np.where(anchors >= 0, anchors, n_known + candidate.fine), return_inverse=True)[1]
    return replace(candidate, fine=fine, n_fine=int(fine.max()) + 1)


def aligned(posterior: Floats, like: Floats, n_fixed: int) -> Floats:
    """The same grouping with its new clusters ordered to agree best with another one; known clusters stay."""
    order = np.arange(posterior.shape[1])
    agree = like[:, n_fixed:].T @ posterior[:, n_fixed:]
    order[n_fixed:] = n_fixed + linear_sum_assignment(-agree)[1]
    return np.asarray(posterior[:, order])


def judge_geometries(
    space: Space, codes: Ints, seed: int, embed: Callable[[Ints], Space] | None = None
) -> dict[str, float]:
    """What each geometry is worth: log weights by how well it finds known classes (n,) without seeing them.

    It is the mean over several draws of classes and items, because on a handful of classes one geometry is often lucky.
    Where the space was fitted to known classes, these are more compact in it than new ones will be. Then `embed` gives
    some of the items as they are in a space that was fitted without their classes.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(200, centers=4, n_features=8, random_state=0)
    >>> max(judge_geometries(X, y, 0).values())
    0.0
    """
    right: dict[str, list[float]] = {}
    for rows in _draws(codes, seed, of_classes=OF_CLASSES if embed is None else 0.5):
        places = np.unique(codes[rows], return_inverse=True)[1]
        n_classes = int(places.max()) + 1
        nothing = Odds(len(rows), np.empty((0, 2), dtype=np.int64), np.empty(0))
        accuracies: dict[str, list[float]] = {}
        for candidate in geometries(space[rows] if embed is None else embed(rows), n_classes, seed, 1):
            labels = candidate.posterior(nothing, FIRST_WRONG, n_classes).argmax(1)
            counts = confusion(labels, places, n_classes, n_classes)
            accuracies.setdefault(candidate.name, []).append(accuracy(counts, match_outputs(counts)))
        for name, values in accuracies.items():
            right.setdefault(name, []).append(float(np.mean(values)))
    mean = {name: float(np.mean(values)) for name, values in right.items()}
    return {name: (value - max(mean.values())) / POINTS for name, value in mean.items()}


def _draws(codes: Ints, seed: int, of_classes: float) -> Iterator[Ints]:
    """Most items of a share of the classes, several times."""
    random, names = np.random.default_rng(seed), np.unique(codes)
    for _ in range(DRAWS):
        some = random.permutation(names)[: max(2, math.ceil(of_classes * len(names)))]
        rows = np.flatnonzero(np.isin(codes, some) & (random.random(len(codes)) < OF_ITEMS))
        if len(rows) >= 2 * len(some) and len(np.unique(codes[rows])) > 1:
            yield rows
