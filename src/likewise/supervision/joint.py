"""Learning with joint MCL: the answers of a batch together, and with them those about items of the batches before.

    L = joint MCL(items that are matched | the last 50 K items) + MCL(the other known pairs)

MCL alone starts late and may leave classes merged; see criteria/joint.py. The outputs of the last items are needed
where a batch has few items of a class: they say which output stands for a group. With labels, or where all pairs are
known, nearly all items are matched. The fewer pairs are known, the more is left to MCL: groups of fewer than 5 items
and groups that are not known to differ are not matched.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import nll_loss

from likewise.criteria import joint_targets, mcl, whole
from likewise.supervision.answers import AnsweredBatch, Known

PER_OUTPUT = 50  # items that are remembered, for each output
LEAST = 5  # items of a group that is matched: with fewer of them it was measured to be worse than MCL


class RecentOutputs(nn.Module):
    """A network, and what it said of the items that it was trained on last.

    Both are part of its state, so that a run that is resumed has them again. Nothing changes in how it predicts.

    >>> network = RecentOutputs(nn.Linear(3, 2), n_outputs=2, size=2)
    >>> network.remember(torch.tensor([7, 8, 9]), torch.zeros(3, 2))
    >>> network.index
    tensor([8, 9])
    """

    index: Tensor
    logits: Tensor

    def __init__(self, network: nn.Module, n_outputs: int, size: int | None = None) -> None:
        super().__init__()
        size = PER_OUTPUT * n_outputs if size is None else size
        self.network = network
        self.training = network.training  # so that `train` sees which parts of the network are frozen
        self.register_buffer("index", torch.full((size,), -1))  # which items; -1: none yet
        self.register_buffer("logits", torch.zeros(size, n_outputs))  # (size, K)

    @torch.no_grad()
    def remember(self, index: Tensor, logits: Tensor) -> None:
        """Add the items of a batch, int64 (b,), with their logits (b, K).

        The oldest are dropped, and what was said of the same items before.
        """
        self.index[torch.isin(self.index, index.to(self.index))] = -1
        self.index.copy_(torch.cat([self.index, index.to(self.index)])[len(index) :])
        self.logits.copy_(torch.cat([self.logits, logits.to(self.logits)])[len(logits) :])

    def recent(self) -> tuple[Tensor, Tensor]:
        """The items, int64 (n,), and their logits (n, K)."""
        there = self.index >= 0
        return self.index[there], self.logits[there]

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def joint_objective(known: Known) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: joint MCL over the items that can be matched, and MCL over the other known pairs.

    A network in `RecentOutputs` is matched with what it said of earlier items; any other on the batch alone, which is
    enough where a batch has about ten items of each class. `known` are the answers, `AnswerKnowledge`, or labels,
    `LabelKnowledge`: of these too only same or different is used. Answers must be right, or repaired.
    """

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        values, index = logits.float(), batch.index.cpu()
        recent = network.recent() if isinstance(network, RecentOutputs) else None
        loss = joint_loss(values, index, known, recent)
        if isinstance(network, RecentOutputs) and network.training:
            network.remember(index, values)
        return loss, logits

    return objective


def joint_loss(logits: Tensor, index: Tensor, known: Known, recent: tuple[Tensor, Tensor] | None = None) -> Tensor:
    """Of a batch of items `index`, int64 (b,); `recent` are other items, int64 (n,), and their logits (n, K).

    Each known pair counts once: in joint MCL where both items are matched, otherwise in MCL. Both are means over all
    that is known of the batch, its items or its pairs.
    """
    table = known.among(index.cpu().numpy(), logits.device)
    if recent is None:
        outputs = joint_targets(logits, table, least=LEAST)
    else:
        others = ~torch.isin(recent[0].cpu(), index.cpu())  # an item is no evidence about itself
        items = torch.cat([recent[0].cpu()[others], index.cpu()])
        memory = recent[1][others.to(recent[1].device)]
        outputs = joint_targets(logits, known.among(items.numpy(), logits.device), memory=memory, least=LEAST)
    matched = outputs >= 0
    if bool(matched.all()):
        return nll_loss(logits.log_softmax(1), outputs)
    same, weight = whole(table, len(index))  # (b, b)
    weight = (torch.ones_like(same) if weight is None else weight).fill_diagonal_(0)
    rest = weight.masked_fill(matched[:, None] & matched, 0)
    joint = nll_loss(logits.log_softmax(1), outputs, ignore_index=-1, reduction="sum")
    share = rest.sum() / weight.sum().clamp_min(torch.finfo(weight.dtype).tiny)
    return joint / (weight.any(1) | matched).sum().clamp_min(1) + share * mcl(logits, same, weight=rest)
