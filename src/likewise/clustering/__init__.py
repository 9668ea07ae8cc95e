"""Constrained clustering: one algorithm a file, one interface, from items and answers about pairs of them.

>>> from likewise import Pairs
>>> pairs = Pairs.from_arrays([(0, 1), (2, 3), (0, 2)], [1, 1, 0])
>>> METHODS["k-means"](n_clusters=2).fit([[0.0], [1.0], [8.0], [9.0]], pairs=pairs).labels_
array([1, 1, 0, 0], dtype=int32)
"""

from typing import Any

from likewise.clustering.constraints import Constraints, Contradictions, read_constraints
from likewise.clustering.k_means import KMeans
from likewise.clustering.method import Method, check_items

METHODS: dict[str, Any] = {  # as the command line calls them
    "k-means": KMeans,
}

__all__ = ["METHODS", "Constraints", "Contradictions", "KMeans", "Method", "check_items", "read_constraints"]
