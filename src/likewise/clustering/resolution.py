"""How many classes a pile has, at the resolution at which known classes in the same space come out whole.

Small clusters of known items and the pile together are joined as long as that pays:

    gain(p, q) = edges between them - gamma d_p d_q / D         modularity at a resolution (Reichardt, Bornholdt 2006)

A small gamma joins classes, a large one splits them. The known items are not told apart for it. Each gamma counts by
how well their clusters agree with their classes (ARI), and says how many classes the pile has:

    log K = sum_gamma w log K_gamma,     w = exp((ARI_gamma - max ARI) / 0.03)

Where known classes still merge at the best resolutions, the pile's do so too: log K_gamma is moved by the logarithm of
how many known classes there are for each that is found, as far as that can be learned from so few classes.

It is done with several draws of the items. How far the draws and the resolutions differ is the error. In a mixed pile
known classes are anchors (`anchors.py`), and what is left over when joining no longer pays are the new classes.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.agglomeration import NEIGHBOURS, Candidate, Space, principal_rows, small_clusters
from likewise.clustering.anchors import AnchoredOdds, anchored
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.geometry import Neighbours, nearest, shared_neighbours
from likewise.clustering.linkage import FIRST_WRONG, Odds, clusters_after, join_groups
from likewise.evaluation import NumberOfClasses, ari, confusion

RESOLUTIONS = tuple(np.geomspace(0.25, 6, 12).tolist())
DRAWS, SHARE = 3, 0.85  # of the items
MOST_ITEMS = 1500  # of the known ones, and as many of the pile
SMALL = 300  # clusters to begin with
AGREEMENT = 0.03  # of ARI that makes a resolution count 1/e
LEAST_SIZE = 0.2  # of the mean: smaller clusters are not counted
LEAST_ERROR = 0.1  # as a logarithm
FEW = 5  # known classes, from which half of what they say of the others is believed
WIDE = 1.645  # standard errors on either side: 90 %


def count_with_known(
    known: Space, codes: Ints, pile: Space, odds: Odds, *, mixed: bool, largest: int, seed: int
) -> NumberOfClasses:
    """The number of classes of the pile (n, d), with `mixed` that of known items (m, d) and pile together.

    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(600, centers=12, n_features=8, random_state=0)
    >>> nothing = Odds(300, np.empty((0, 2), int), np.empty(0))
    >>> count_with_known(X[y < 6], y[y < 6], X[y >= 6], nothing, mixed=False, largest=100, seed=0).estimate
    6
    """
    random = np.random.default_rng(seed)
    rows = []
    for draw in range(DRAWS):
        some = np.sort(random.permutation(len(known))[: min(MOST_ITEMS, max(2, int(SHARE * len(known))))])
        here = np.sort(random.permutation(len(pile))[: min(MOST_ITEMS, max(2, int(SHARE * len(pile))))])
        rows += _by_resolutions(known[some], codes[some], pile[here], _among(odds, here), mixed, seed + draw)
    agree, number, unsure = np.array(rows).T
    weight = np.exp((agree - agree.max()) / AGREEMENT)
    weight /= weight.sum()
    middle = float(weight @ number)
    error = math.hypot(math.sqrt(float(weight @ (number - middle) ** 2)), float(weight @ unsure), LEAST_ERROR)
    least = len(np.unique(codes)) if mixed else 2
    few, estimate, many = (
        min(max(least, round(math.exp(middle + width * error))), max(least, largest)) for width in (-WIDE, 0.0, WIDE)
    )
    return NumberOfClasses(estimate, few, many)


def _by_resolutions(
    known: Space, codes: Ints, pile: Space, odds: Odds, mixed: bool, seed: int
) -> list[tuple[float, float, float]]:
    """At each resolution the ARI of known items, the logarithm of the number of classes, and how unsure it is."""
    codes = np.unique(codes, return_inverse=True)[1]
    n_known, n, n_classes = len(known), len(known) + len(pile), int(codes.max()) + 1
    believed = n_classes / (n_classes + FEW)
    rows = principal_rows(np.concatenate([known, pile]), seed)
    graph = shared_neighbours(nearest(rows, NEIGHBOURS))
    fine = small_clusters(rows, min(SMALL, max(2, n // 3)), 2, seed)
    anchors = np.concatenate([codes, np.full(len(pile), -1)])
    links = AnchoredOdds(n, odds.ends + n_known, odds.credit, anchors=anchors if mixed else np.full(n, -1))
    agreements = []
    for resolution in RESOLUTIONS:
        around = Neighbours(graph, 1.0)
        around.total /= resolution
        free = Candidate("", around, fine, int(fine.max()) + 1)
        labels = _joined(free, csr_array((n, n)))
        agree = ari(confusion(labels[:n_known], codes, int(labels.max()) + 1, n_classes))
        merged = math.log(n_classes / max(1, _number(labels[::-1], len(pile))))  # for each known class that is found
        if mixed or len(odds):
            labels = _joined(anchored(free, links.anchors), links.matrix(FIRST_WRONG))
        n_anchors = n_classes if mixed else 0
        number = n_anchors + _number(labels, n_known, n_anchors) * math.exp(believed * merged)
        agreements.append((agree, math.log(max(1, number)), (1 - believed) * abs(merged)))
    return agreements


def _joined(candidate: Candidate, said: csr_array) -> Ints:
    joins = join_groups(candidate.geometry, candidate.fine, candidate.n_fine, said, 1, least=0.0)
    return np.asarray(clusters_after(joins, candidate.n_fine)[candidate.fine])


def _number(labels: Ints, n_known: int, n_anchors: int = 0) -> int:
    """The clusters that are the pile's, whose items come after the known ones; with anchors, the new clusters."""
    n_clusters = int(labels.max()) + 1
    own: Floats = np.bincount(labels[:n_known], minlength=n_clusters) / n_known
    size = np.bincount(labels[n_known:], minlength=n_clusters)
    if n_anchors:
        return int((size[n_anchors:] >= LEAST_SIZE * size.sum() / n_clusters).sum())
    mostly = size / size.sum() > own
    return int((mostly & (size >= LEAST_SIZE * size.sum() / max(1, mostly.sum()))).sum())


def _among(odds: Odds, items: Ints) -> Odds:
    place = np.full(odds.n_items, -1)
    place[items] = np.arange(len(items))
    kept = (place[odds.ends] >= 0).all(axis=1)
    return Odds(len(items), place[odds.ends[kept]], odds.credit[kept])
