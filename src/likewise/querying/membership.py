"""Which class each item is in: its neighbours' classes, and the answers about itself.

    q_i = softmax_k( SHARP log(v_ik + doubt) + SPREAD sum_{j in k} w_{a(i) a(j)} + sum_j w_ij q_jk )

v_ik is the share of i's links that lead to k, and w_{a(i) a(j)} are the answers about the atoms of both items. The last
column is "a new one": no links, only the doubt.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from likewise.clustering.constraints import Floats
from likewise.clustering.geometry import members
from likewise.querying.partition import Partition
from likewise.querying.view import View

SHARP = 2.5  # links of an item are not independent of each other, and yet go with its class
DOUBT = 0.3  # links that all classes together have anyway, beside the item's own share of 1
NEW = 0.02  # and those of a class nobody has seen
SWEEPS = 2
SPREAD = 0.7  # how much an answer about its atom says of an item


def membership(view: View, parts: Partition, said: Floats | None = None, odds: csr_array | None = None) -> Floats:
    """(n, K + 1) The posterior of each item over the clusters and a new one.

    `odds` (n, n) are those of the answers, `said` (M, M) their sums between atoms.
    """
    belongs = members(parts.cluster, parts.n_clusters).toarray()
    share = np.asarray(view.vote @ belongs)
    own = parts.cluster[view.atom]
    share[np.arange(len(own)), own] += 0.5  # an item alone among its neighbours still is in an atom
    doubt = DOUBT / max(parts.n_clusters, 1)
    logits = SHARP * np.log(np.concatenate([share / 1.5 + doubt, np.full((len(own), 1), NEW)], axis=1))
    if said is not None:
        logits[:, :-1] += SPREAD * (said @ belongs)[view.atom]
    q = softmax(logits, axis=1)
    if odds is None:
        return np.asarray(q)
    rows = np.flatnonzero(np.diff(odds.indptr))
    for _ in range(SWEEPS):
        said = odds[rows] @ q
        said[:, -1] = 0  # two new ones need not be the same
        q[rows] = softmax(logits[rows] + said, axis=1)
    return np.asarray(q)
