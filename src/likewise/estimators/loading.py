"""Read back whatever classifier a folder holds."""

from __future__ import annotations

from pathlib import Path

from likewise.errors import InputError
from likewise.estimators.network_classifier import NetworkClassifier
from likewise.estimators.pair_classifier import PairClassifier
from likewise.estimators.saved import read_record
from likewise.estimators.semi_supervised import SemiSupervisedClassifier

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
