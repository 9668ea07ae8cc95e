"""A few labels and much without (section 4.3 of the paper): one objective, of which the methods differ in L_reg alone.

    L = alpha L_sup(X_L, Y_L) + beta L_reg(X_L and X_UL)                    (appendix C)
    alpha = |D_L| / (|D| + |D_L|),    beta = |D| / (|D| + |D_L|)

|D_L| items have a label, |D| is all of them: nothing to tune. L_sup is cross-entropy, which also decides what output
stands for what class.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, pad

from likewise.distributed import current_share
from likewise.supervision.labels import LabelledBatch

MOST = 0.999


class AveragedNetwork(nn.Module):
    """A network and the moving average of its weights: the first is trained, the second predicts in evaluation mode.

        average <- d average + (1 - d) weights,    d = min(0.999, (1 + t) / (10 + t)) at step t

    The average covers a tenth of the steps so far, and at most a thousand. Both are part of the module's state, so that
    a resumed run has them again.

    >>> network = AveragedNetwork(nn.Linear(1, 1, bias=False))
    >>> _ = network.network.weight.data.fill_(1), network.average.weight.data.fill_(0)
    >>> network.follow()
    >>> round(network.average.weight.item(), 6)  # d = 1/10 at first
    0.9
    """

    steps: Tensor

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        self.average = copy.deepcopy(network).requires_grad_(False).eval()
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @torch.no_grad()
    def follow(self) -> None:
        """Move the average towards the weights of this step; what is counted (by batch-norm) is copied."""
        t = int(self.steps)
        move = 1 - min(MOST, (1 + t) / (10 + t))
        old, new = list(self.average.state_dict().values()), list(self.network.state_dict().values())
        numbers = [place for place, value in enumerate(old) if value.is_floating_point()]
        torch._foreach_lerp_([old[place] for place in numbers], [new[place] for place in numbers], move)
        for place in set(range(len(old))) - set(numbers):
            old[place].copy_(new[place])
        self.steps += 1

    def train(self, mode: bool = True) -> AveragedNetwork:
        super().train(mode)
        self.average.eval()
        return self

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs) if self.training else self.average(inputs)
        return logits


@dataclass(frozen=True)
class BatchSeen:
    """A batch and what the network made of it: some labelled rows, then b items in one view after another.

    Over several ranks, `inputs` and `items` are this rank's rows.
    """

    network: nn.Module
    inputs: Tensor  # (labelled + views b, ...)
    logits: Tensor  # (labelled + views b, K)
    labelled: int

    @property
    def items(self) -> Tensor:
        return self.inputs[self._labelled_here :]

    @property
    def _labelled_here(self) -> int:
        return current_share(len(self.inputs)).before(self.labelled)

    @property
    def item_logits(self) -> Tensor:
        return self.logits[self.labelled :].float()

    def again(self, items: Tensor) -> Tensor:
        """The logits of other items in the batch's place, beside the same labelled rows, which batch-norm sees too."""
        inputs = self.inputs.clone()
        inputs[self._labelled_here :] = items
        logits: Tensor = self.network(inputs)[self.labelled :].float()
        return logits


Regulariser = Callable[[BatchSeen], Tensor]  # -> a scalar


class Weights(NamedTuple):
    alpha: float
    beta: float


def natural_weights(n_labelled: int, n_items: int) -> Weights:
    """
    >>> natural_weights(4000, 50000)
    Weights(alpha=0.07407407407407407, beta=0.9259259259259259)
    """
    return Weights(n_labelled / (n_items + n_labelled), n_items / (n_items + n_labelled))


def semi_objective(
    regulariser: Regulariser,
    labelled: int,  # rows at the head of each batch
    weights: Weights,
    class_weight: Tensor | None = None,  # (C,) of the classes that have labels, the first C outputs
) -> Callable[[nn.Module, LabelledBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`; the whole batch goes through the network at once."""

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        if isinstance(network, AveragedNetwork):
            network.follow()
        logits = network(batch.inputs)
        told = batch.labels[:labelled]
        weight = None
        if class_weight is not None:
            weight = pad(class_weight.to(logits.device), (0, logits.shape[1] - len(class_weight)))  # (K,)
        supervised = cross_entropy(logits[:labelled].float(), told, weight)
        regularised = regulariser(BatchSeen(network, batch.inputs, logits, labelled))
        return weights.alpha * supervised + weights.beta * regularised, logits

    return objective
