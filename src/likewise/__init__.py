"""Likewise learns classes from same-or-different answers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likewise.criteria import KCL, MCL, kcl, mcl
    from likewise.errors import InputError
    from likewise.estimators import (
        CategoryDiscoverer,
        PairClassifier,
        PairKFold,
        SemiSupervisedClassifier,
        SimilarityNetwork,
    )
    from likewise.landscape import loss_surface
    from likewise.pairs import Pairs

__version__ = "0.1.0"

_HOMES = {
    "KCL": "likewise.criteria",
    "MCL": "likewise.criteria",
    "kcl": "likewise.criteria",
    "mcl": "likewise.criteria",
    "InputError": "likewise.errors",
    "CategoryDiscoverer": "likewise.estimators",
    "PairClassifier": "likewise.estimators",
    "PairKFold": "likewise.estimators",
    "SemiSupervisedClassifier": "likewise.estimators",
    "SimilarityNetwork": "likewise.estimators",
    "Pairs": "likewise.pairs",
    "loss_surface": "likewise.landscape",
}
__all__ = [
    "KCL",
    "MCL",
    "CategoryDiscoverer",
    "InputError",
    "PairClassifier",
    "PairKFold",
    "Pairs",
    "SemiSupervisedClassifier",
    "SimilarityNetwork",
    "__version__",
    "kcl",
    "loss_surface",
    "mcl",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, so that `likewise --help` need not wait for torch."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'likewise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
