"""Constrained clustering from items and answers about pairs of them: one algorithm per file, one interface.

>>> from likewise import Pairs
>>> pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2)], [1, 1, 0])
>>> METHODS["k-means"](n_clusters=2).fit([[0.0], [1.0], [8.0], [9.0]], pairs=pairs).labels_
array([1, 1, 0, 0], dtype=int32)
"""

from typing import Any

from likewise.clustering.agglomeration import Agglomeration
from likewise.clustering.cecm import CECM
from likewise.clustering.constraints import Constraints, Contradictions, read_constraints, refuse_contradictions
from likewise.clustering.cop_k_means import COPKMeans
from likewise.clustering.cosc import COSC
from likewise.clustering.csp import CSP
from likewise.clustering.itml import ITML
from likewise.clustering.k_means import KMeans
from likewise.clustering.lpnmf import LPNMF
from likewise.clustering.lsc import LSC
from likewise.clustering.method import Method, check_hyperparameters, check_items
from likewise.clustering.mmc import MMC
from likewise.clustering.mpck_means import MPCKMeans
from likewise.clustering.pck_means import PCKMeans
from likewise.clustering.sklr import SKLR
from likewise.clustering.skms import SKMS, SKKm

METHODS: dict[str, Any] = {  # as the command line calls them
    "k-means": KMeans,
    "cop-k-means": COPKMeans,
    "pck-means": PCKMeans,
    "mpck-means": MPCKMeans,
    "itml": ITML,
    "mmc": MMC,
    "lpnmf": LPNMF,
    "lsc": LSC,
    "skms": SKMS,
    "skkm": SKKm,
    "sklr": SKLR,
    "csp": CSP,
    "cosc": COSC,
    "cecm": CECM,
    "agglomeration": Agglomeration,
}

__all__ = [
    "CECM",
    "COSC",
    "CSP",
    "ITML",
    "LPNMF",
    "LSC",
    "METHODS",
    "MMC",
    "SKLR",
    "SKMS",
    "Agglomeration",
    "COPKMeans",
    "Constraints",
    "Contradictions",
    "KMeans",
    "MPCKMeans",
    "Method",
    "PCKMeans",
    "SKKm",
    "check_hyperparameters",
    "check_items",
    "read_constraints",
    "refuse_contradictions",
]
