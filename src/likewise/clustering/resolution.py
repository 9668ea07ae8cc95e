"""How many classes a pile has, at the resolution at which known classes in the same space come out whole.

Small clusters are joined as long as that pays:

    gain(p, q) = edges between them - gamma d_p d_q / s         modularity at a resolution (Reichardt, Bornholdt 2006)

with the degrees d and the items s of each known class. A small gamma joins classes, a large one splits them. The known
items are not told apart for it. How many clusters there are of C known classes says how many there are of the pile's:

    log K = sum_gamma w log(K_gamma C / C_gamma),     w = exp((ARI_gamma - max ARI) sqrt(C) / 0.3)

where each gamma counts by how well the clusters of known items agree with their classes (ARI). A pile of new classes is
clustered apart, at the same gamma and with as many items of each class, as items of known classes that lie near would
join in. In a mixed pile known classes are anchors (`anchors.py`), and what is left over when joining no longer pays are
clusters of new ones.

It is done with several draws of the items. How far the draws and the resolutions differ is the error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.agglomeration import NEIGHBOURS, Candidate, Space, principal_rows, small_clusters
from likewise.clustering.anchors import AnchoredOdds, anchored
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.geometry import Neighbours, nearest, shared_neighbours
from likewise.clustering.linkage import FIRST_WRONG, Odds, clusters_after, join_groups
from likewise.evaluation import NumberOfClasses, ari, confusion

RESOLUTIONS = tuple(np.geomspace(0.05, 4, 16).tolist())
DRAWS, SHARE = 3, 0.85  # of the items
MOST_ITEMS = 1500  # of the known ones, and as many of the pile
SMALL = 300  # clusters to begin with
AGREEMENT = 0.3  # of ARI that makes a resolution count 1/e, beside one known class; it is surer beside many
LEAST_SIZE = 0.2  # of the mean: smaller clusters are not counted
HALF = 2.0  # items of a class for each labelled one in a mixed pile
LEAST_ERROR = 0.25  # as a logarithm
ROUNDS, UNLIKE = 3, 1.5  # of leaving items out, as long as classes have so many times more items than others
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
    rows: list[tuple[float, float]] = []
    for draw in range(DRAWS):
        some, here = (np.sort(random.permutation(len(all_of))[: _most(all_of)]) for all_of in (known, pile))
        by = _in_mixed_pile if mixed else _apart
        rows += by(known[some], codes[some], pile[here], _among(odds, here), seed + draw)
    agree, number = np.array(rows).T
    n_known = len(np.unique(codes))
    weight = _weights(agree, n_known)
    middle = float(weight @ number)
    error = math.hypot(math.sqrt(float(weight @ (number - middle) ** 2)), LEAST_ERROR)
    least = n_known if mixed else 2
    few, estimate, many = (
        min(max(least, round(math.exp(middle + width * error))), max(least, largest)) for width in (-WIDE, 0.0, WIDE)
    )
    return NumberOfClasses(estimate, few, many)


def _weights(agree: Floats, n_known: int) -> Floats:
    weight = np.exp((agree - agree.max()) * math.sqrt(n_known) / AGREEMENT)
    return np.asarray(weight / weight.sum())


def _most(items: Space) -> int:
    return min(MOST_ITEMS, max(2, int(SHARE * len(items))))


def _apart(known: Space, codes: Ints, pile: Space, odds: Odds, seed: int) -> list[tuple[float, float]]:
    """At each resolution the ARI of known items, and the logarithm of the number of classes of a pile of new ones.

    Classes with more items come apart at a smaller gamma. So items are left out where classes of the pile seem to have
    far more or far fewer than known ones.
    """
    random = np.random.default_rng(seed)
    agree = number = np.empty(0)
    for _ in range(ROUNDS):
        codes = np.unique(codes, return_inverse=True)[1]
        n_classes = int(codes.max()) + 1
        size = len(known) / n_classes
        of_known = list(_partitions(known, csr_array((len(known), len(known))), size, seed))
        agree = np.array([ari(confusion(one, codes, int(one.max()) + 1, n_classes)) for one in of_known])
        of_pile = [_n_clusters(one) for one in _partitions(pile, odds.matrix(FIRST_WRONG), size, seed)]
        number = np.log(np.array(of_pile) * n_classes / [_n_clusters(one) for one in of_known])
        weight = _weights(agree, n_classes)
        more = len(pile) / math.exp(float(weight @ number)) / size  # items of each class
        if 1 / UNLIKE < more < UNLIKE:
            break
        here = np.sort(random.permutation(len(pile))[: max(2, round(min(1.0, 1 / more) * len(pile)))])
        some = np.sort(random.permutation(len(known))[: max(2, round(min(1.0, more) * len(known)))])
        pile, odds, known, codes = pile[here], _among(odds, here), known[some], codes[some]
    return list(zip(agree.tolist(), number.tolist(), strict=True))


def _in_mixed_pile(known: Space, codes: Ints, pile: Space, odds: Odds, seed: int) -> list[tuple[float, float]]:
    """The same for all classes of a pile that has known ones as well."""
    codes = np.unique(codes, return_inverse=True)[1]
    n_known, n, n_classes = len(known), len(known) + len(pile), int(codes.max()) + 1
    anchors = np.concatenate([codes, np.full(len(pile), -1)])
    said = AnchoredOdds(n, odds.ends + n_known, odds.credit, anchors=anchors).matrix(FIRST_WRONG)
    rows = np.concatenate([known, pile])
    size = HALF * n_known / n_classes
    free = _partitions(rows, csr_array((n, n)), size, seed)
    around = _partitions(rows, said, size, seed, anchors)
    agreements = []
    for labels, with_anchors in zip(free, around, strict=True):
        agree = ari(confusion(labels[:n_known], codes, int(labels.max()) + 1, n_classes))
        n_clusters = int(with_anchors.max()) + 1
        sizes = np.bincount(with_anchors[n_known:], minlength=n_clusters)
        new = int((sizes[n_classes:] >= LEAST_SIZE * sizes.sum() / n_clusters).sum())
        number = n_classes + new * n_classes / _n_mostly_known(labels, n_known)
        agreements.append((agree, math.log(number)))
    return agreements


def _partitions(space: Space, said: csr_array, size: float, seed: int, anchors: Ints | None = None) -> Iterator[Ints]:
    """The clusters (n,) of items (n, d) at each resolution."""
    rows = principal_rows(space, seed)
    fine = small_clusters(rows, min(SMALL, max(2, len(rows) // 3)), 2, seed)
    around = Neighbours(shared_neighbours(nearest(rows, NEIGHBOURS)), 1.0)
    one = Candidate("", around, fine, int(fine.max()) + 1)
    if anchors is not None:
        one = anchored(one, anchors)
    for resolution in RESOLUTIONS:
        around.total = size / resolution
        joins = join_groups(around, one.fine, one.n_fine, said, 1, least=0.0)
        yield clusters_after(joins, one.n_fine)[one.fine]


def _n_clusters(labels: Ints) -> int:
    """Without those that are far smaller than most."""
    size = np.bincount(labels)
    return int((size >= LEAST_SIZE * size.mean()).sum())


def _n_mostly_known(labels: Ints, n_known: int) -> int:
    """The clusters that have a larger share of the known items, which come first, than of the pile."""
    n_clusters = int(labels.max()) + 1
    size, other = (np.bincount(part, minlength=n_clusters) for part in (labels[:n_known], labels[n_known:]))
    mostly = size / size.sum() > other / other.sum()
    return max(1, int((mostly & (size >= LEAST_SIZE * size.sum() / max(1, mostly.sum()))).sum()))


def _among(odds: Odds, items: Ints) -> Odds:
    place = np.full(odds.n_items, -1)
    place[items] = np.arange(len(items))
    kept = (place[odds.ends] >= 0).all(axis=1)
    return Odds(len(items), place[odds.ends[kept]], odds.credit[kept])
