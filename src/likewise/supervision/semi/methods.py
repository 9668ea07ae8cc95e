"""The methods by name: what each asks of a batch, and its regulariser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from likewise.errors import InputError
from likewise.supervision.semi.objective import Regulariser
from likewise.supervision.semi.pi_model import pi_model
from likewise.supervision.semi.pseudo_label import pseudo_label
from likewise.supervision.semi.pseudo_mcl import pseudo_mcl
from likewise.supervision.semi.pseudo_mcl_plus import pseudo_mcl_plus
from likewise.supervision.semi.spn_mcl import spn_mcl
from likewise.supervision.semi.vat import vat


class Aids(NamedTuple):
    """What a regulariser may need besides the batch."""

    epsilon: float  # VAT's
    similarity: Callable[[Tensor], Tensor] | None = None  # b items -> (b, b) probabilities of "same"


@dataclass(frozen=True)
class Method:
    name: str
    views: int  # of each item
    regulariser: Callable[[Aids], Regulariser] | None  # None: labels alone
    needs_similarity: bool = False  # whether a similarity network is trained first
    strong: bool = False  # whether the second view is strongly augmented
    averaged: bool = False  # whether the average of the weights is what is learned
    balanced: bool = False  # whether every class counts alike in L_sup, however many labels it has


def _spn_mcl(aids: Aids) -> Regulariser:
    assert aids.similarity is not None
    return spn_mcl(aids.similarity)


METHODS = {
    method.name: method
    for method in (
        Method("supervised", 0, None),
        Method("pseudo-label", 1, lambda aids: pseudo_label),
        Method("pi-model", 2, lambda aids: pi_model),
        Method("vat", 1, lambda aids: vat(aids.epsilon)),
        Method("spn-mcl", 1, _spn_mcl, needs_similarity=True),
        Method("pseudo-mcl", 2, lambda aids: pseudo_mcl),
        Method("pseudo-mcl+", 2, lambda aids: pseudo_mcl_plus, strong=True, averaged=True, balanced=True),
    )
}


def find_method(name: str) -> Method:
    """
    >>> find_method("pi-model").views
    2
    """
    if name not in METHODS:
        raise InputError(f"There is no method {name!r}; choose one of {', '.join(METHODS)}.")
    return METHODS[name]
