"""Anchors: a sample of the items of each class, known or found, that later items are compared with and join."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.errors import InputError
from likewise.estimators.held_out_classes import sample_of_each_class
from likewise.estimators.similarity_network import MOST_KEPT, SimilarityNetwork
from likewise.evaluation import Novelty, nearness

if TYPE_CHECKING:
    from likewise.estimators.category_discoverer import CategoryDiscoverer

NEW = "new"  # what an item is called that is of no class


def anchor_items(discoverer: CategoryDiscoverer, inputs: Tensor) -> tuple[Tensor, NDArray[np.int64]]:
    """Up to 4,000 items of the pile, and in a mixed one of the known items, with the places of their classes."""
    codes, items = discoverer.codes_, inputs
    if discoverer.mixed:
        assert discoverer.similarity_ is not None
        items = torch.cat([discoverer.similarity_.known_inputs_, inputs])
        codes = np.concatenate([discoverer.similarity_.known_codes_, codes])
    some = sample_of_each_class(codes, MOST_KEPT, discoverer.seed_)
    return items[torch.from_numpy(some)], codes[some]


def novelty_of(discoverer: CategoryDiscoverer) -> Novelty | None:
    """How to tell items of no class that is known or found; None without angles, or with a similarity of one's own."""
    if discoverer.similarity_ is None or discoverer.similarity_.head != "cosine":
        return None
    return Novelty.fit(_embedded(discoverer.similarity_, discoverer.anchors_), discoverer.anchor_codes_)


def p_unseen(discoverer: CategoryDiscoverer, X: Any) -> NDArray[np.float64]:
    """The probability (n,) that an item is of none of the classes; 0 where nothing tells."""
    similarity = discoverer.similarity_
    if similarity is None or discoverer.novelty_ is None:
        return np.zeros(len(X))
    inputs = discoverer.classifier_._inputs(X, reset=False)  # which knows the columns of the pile
    z, anchors = (_embedded(similarity, each) for each in (inputs, discoverer.anchors_))
    return discoverer.novelty_.probability(nearness(z, anchors))


def with_unseen(labels: NDArray[Any], p_new: NDArray[np.float64]) -> NDArray[Any]:
    """Classes (n,), with -1 or "new" in the place of those that are rather of none, by the probability (n,).

    >>> with_unseen(np.array(["ant", "bee"]), np.array([0.1, 0.9])).tolist(), with_unseen(np.arange(2), np.ones(2))
    (['ant', 'new'], array([-1, -1]))
    """
    unseen = p_new > 0.5
    if not unseen.any():
        return np.asarray(labels)
    numbers = labels.dtype.kind in "iuf"
    return np.where(unseen, -1 if numbers else NEW, labels if numbers else labels.astype(str))


def similarity_after(discoverer: CategoryDiscoverer) -> SimilarityNetwork:
    """The similarity, for which all classes that were known or found are known."""
    if discoverer.similarity_ is None:
        raise InputError("A similarity of your own is not kept with its items; fit both piles together.")
    similarity = copy.copy(discoverer.similarity_)
    similarity.known_inputs_, similarity.known_codes_ = discoverer.anchors_, discoverer.anchor_codes_
    similarity.classes_ = discoverer.classes_
    return similarity


def nearest_known(discoverer: CategoryDiscoverer) -> list[tuple[Any, Any, float]]:
    """Each new class of a mixed pile, the known class nearest to it, and the cosine of their mean directions."""
    if not discoverer.mixed or discoverer.similarity_ is None:
        return []
    z = _embedded(discoverer.similarity_, discoverer.anchors_)
    means = np.stack([z[discoverer.anchor_codes_ == code].mean(axis=0) for code in range(discoverer.n_classes_)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-12)
    n_known = len(discoverer.similarity_.classes_)
    alike, names = means[n_known:] @ means[:n_known].T, discoverer.classes_.tolist()
    return [(names[n_known + k], names[row.argmax()], float(row.max())) for k, row in enumerate(alike)]


def _embedded(similarity: SimilarityNetwork, inputs: Tensor) -> NDArray[np.float64]:
    return similarity.embed_items(inputs).embedding.numpy().astype(np.float64)
