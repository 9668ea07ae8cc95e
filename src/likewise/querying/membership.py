"""Which class each item is in: its neighbours' classes, and the answers about itself.

    q_i = softmax_k( log(share of i's links that lead to k + doubt) + sum_j w_ij q_jk )

The last column is "a new one": no links, only the doubt.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from likewise.clustering.constraints import Floats
from likewise.clustering.geometry import members
from likewise.querying.partition import Partition
from likewise.querying.view import View

DOUBT = 0.02  # the share of links that any class has
NEW = 0.005  # and that a class nobody has seen has
SWEEPS = 2


def membership(view: View, parts: Partition, odds: csr_array | None) -> Floats:
    """(n, K + 1) The posterior of each item over the clusters and a new one; `odds` (n, n) are those of the answers."""
    share = np.asarray(view.vote @ members(parts.cluster, parts.n_clusters).toarray())
    own = parts.cluster[view.atom]
    share[np.arange(len(own)), own] += 0.5  # an item alone among its neighbours still is in an atom
    logits = np.log(np.concatenate([share / 1.5 + DOUBT, np.full((len(own), 1), NEW)], axis=1))
    q = softmax(logits, axis=1)
    if odds is None:
        return np.asarray(q)
    rows = np.flatnonzero(np.diff(odds.indptr))
    for _ in range(SWEEPS):
        said = odds[rows] @ q
        said[:, -1] = 0  # two new ones need not be the same
        q[rows] = softmax(logits[rows] + said, axis=1)
    return np.asarray(q)
