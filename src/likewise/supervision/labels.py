"""Supervised learning (section 4.1 of the paper): S comes from class labels, s(i, j) = [y_i = y_j].

The network sees only whether two items of a batch share a class, never which class it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy


class LabelledBatch(Protocol):
    @property
    def inputs(self) -> Tensor: ...

    @property
    def labels(self) -> Tensor: ...


def label_objective(
    criterion: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: `criterion(logits, labels)`, whether MCL, KCL or the twin, cross-entropy.

    >>> from likewise.training import Batch
    >>> batch = Batch(torch.randn(4, 3), torch.tensor([0, 0, 1, 1]), torch.arange(4))
    >>> from likewise.criteria import MCL
    >>> loss, logits = label_objective(MCL())(nn.Linear(3, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([4, 2]))
    """

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        return criterion(logits.float(), batch.labels), logits

    return objective


class NumberedBatch(Protocol):
    @property
    def inputs(self) -> Tensor: ...

    @property
    def index(self) -> Tensor: ...


def named_objective(outputs: Tensor, weight: Tensor) -> Callable[[nn.Module, NumberedBatch], tuple[Tensor, Tensor]]:
    """The objective where outputs stand for classes: cross-entropy with the output of each item (n,), weighted (n,)."""

    def objective(network: nn.Module, batch: NumberedBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        index = batch.index.cpu()
        losses = cross_entropy(logits.float(), outputs[index].to(logits.device), reduction="none")
        share = weight[index].to(logits.device)
        return (losses * share).sum() / share.sum().clamp_min(torch.finfo(share.dtype).tiny), logits

    return objective
