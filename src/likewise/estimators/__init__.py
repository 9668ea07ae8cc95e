"""scikit-learn estimators that learn from pairs, from classes known elsewhere, or from a few labels."""

from __future__ import annotations

from pathlib import Path

from likewise.errors import InputError
from likewise.estimators.category_discoverer import CategoryDiscoverer
from likewise.estimators.network_classifier import NetworkClassifier
from likewise.estimators.onnx_file import export_onnx
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.pair_folds import PairKFold, agreement, balanced_agreement
from likewise.estimators.saved import read_record
from likewise.estimators.semi_supervised import SemiSupervisedClassifier
from likewise.estimators.similarity_network import SimilarityNetwork

__all__ = [
    "CategoryDiscoverer",
    "NetworkClassifier",
    "PairClassifier",
    "PairKFold",
    "SemiSupervisedClassifier",
    "SimilarityNetwork",
    "agreement",
    "balanced_agreement",
    "export_onnx",
    "load_classifier",
]

KINDS: dict[str, type[NetworkClassifier]] = {kind.__name__: kind for kind in (PairClassifier, SemiSupervisedClassifier)}


def load_classifier(folder: Path | str) -> NetworkClassifier:
    """The classifier that `save` wrote, of whatever kind it is.

    >>> import tempfile
    >>> from sklearn.datasets import make_blobs
    >>> from likewise import SemiSupervisedClassifier
    >>> X, y = make_blobs(60, centers=3, cluster_std=0.5, random_state=3)
    >>> folder = tempfile.mkdtemp()
    >>> SemiSupervisedClassifier("supervised", epochs=3).fit(X, y).save(folder)
    >>> type(load_classifier(folder)).__name__
    'SemiSupervisedClassifier'
    """
    record = read_record(Path(folder))
    if record["kind"] not in KINDS:
        known = " and ".join(KINDS)
        raise InputError(
            f"{folder} holds a {record['kind']!r}, and this Likewise knows {known}; use the one that wrote it."
        )
    return KINDS[record["kind"]].load(folder)
