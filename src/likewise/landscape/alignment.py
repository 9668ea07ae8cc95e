"""Outputs in the order of the classes, so that cross-entropy and straight lines between networks have a meaning.

A network that learned from pairs may have any output for any class. Its outputs are matched with the classes by the
Hungarian algorithm and its last layer is put in that order, which changes neither MCL nor KCL.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.evaluation import confusion, match_outputs
from likewise.landscape.losses import FixedBatch
from likewise.training import evaluating


def aligned(networks: Sequence[nn.Module], batches: Sequence[FixedBatch]) -> list[nn.Module]:
    """Copies with their outputs in the order of the labels or, where there are none, of the first network's outputs."""
    outputs = [_outputs(network, batches) for network in networks]  # each (n, K)
    if all(batch.labelled for batch in batches):
        labels = torch.cat([batch.target for batch in batches])
        n_classes = int(labels.max()) + 1
    else:
        labels, n_classes = outputs[0].argmax(1), outputs[0].shape[1]
    return [_aligned(network, given, labels, n_classes) for network, given in zip(networks, outputs, strict=True)]


def output_order(outputs: Tensor, labels: Tensor, n_classes: int) -> NDArray[np.int64]:
    """For each class its output, then the outputs that have none; unmatched classes take them in turn.

    >>> output_order(torch.eye(3)[[2, 2, 0]], torch.tensor([0, 0, 2]), n_classes=3)  # class 0 is output 2
    array([2, 1, 0])
    """
    n_outputs = outputs.shape[1]
    matching = match_outputs(confusion(outputs.argmax(1).numpy(), labels.numpy(), n_outputs, n_classes))
    order = np.full(n_outputs, -1, dtype=np.int64)
    for output, label in enumerate(matching.tolist()):
        if 0 <= label < n_outputs:
            order[label] = output
    order[order < 0] = np.setdiff1d(np.arange(n_outputs), order)
    return order


def _aligned(network: nn.Module, outputs: Tensor, labels: Tensor, n_classes: int) -> nn.Module:
    order = output_order(outputs, labels, n_classes)
    if (order == np.arange(len(order))).all():
        return network
    twin = copy.deepcopy(network)
    last = getattr(twin, "last", None)
    if not isinstance(last, nn.Linear):
        raise InputError(
            f"The outputs of this {type(network).__name__} are not in the order of the classes, and without a linear "
            "layer called `last` they cannot be put in order; do so yourself, or compute mcl and kcl alone."
        )
    with torch.no_grad():
        last.weight.copy_(last.weight[order])
        if last.bias is not None:
            last.bias.copy_(last.bias[order])
    return twin


def _outputs(network: nn.Module, batches: Sequence[FixedBatch]) -> Tensor:
    with evaluating(network), torch.inference_mode():
        return torch.cat([network(batch.inputs) for batch in batches])
