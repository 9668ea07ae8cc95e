"""Learning with joint MCL: the answers of a batch together, and with them those about items of the batches before.

    L = joint MCL(items that are matched | the last 50 items per output) + MCL(the other known pairs)

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

from likewise.criteria import dense, joint_targets, mcl
from likewise.supervision.answers import AnsweredBatch, BetweenItems, Known
from likewise.supervision.pseudo import item_numbers

PER_OUTPUT = 50  # items that are remembered, for each output
LEAST = 5  # items of a group that is matched: with fewer of them few answers were measured to teach less than by MCL


class RecentOutputs(nn.Module):
    """A network that remembers its outputs for the items that it was trained on last.

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
        """Add the items of a batch, int64 (b,), with their logits (b, K); of several views of an item, the mean.

        The oldest are dropped, and what was said of the same items before.
        """
        items, mean, _ = by_item(index.to(self.index), logits.to(self.logits))
        self.index[torch.isin(self.index, items)] = -1
        self.index.copy_(torch.cat([self.index, items])[len(items) :])
        self.logits.copy_(torch.cat([self.logits, mean])[len(items) :])

    def recent(self) -> tuple[Tensor, Tensor]:
        """The items, int64 (n,), and their logits (n, K)."""
        there = self.index >= 0
        return self.index[there], self.logits[there]

    def forward(self, inputs: Tensor) -> Tensor:
        logits: Tensor = self.network(inputs)
        return logits


def joint_objective(known: Known, *, least: int = LEAST) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train`: joint MCL over the items that can be matched, and MCL over the other known pairs.

    A network in `RecentOutputs` is matched with what it said of earlier items; any other on the batch alone, which is
    enough where a batch has about ten items of each class. `known` are the answers, `AnswerKnowledge`, or labels,
    `LabelKnowledge`: of these too only same or different is used. Answers must be right, or repaired. Groups of fewer
    than `least` items are left to MCL. Where no pair is unknown, 1 was measured to be best: it learns rare classes.

    >>> import numpy as np
    >>> from likewise.supervision import LabelKnowledge
    >>> from likewise.training import Batch
    >>> batch = Batch(torch.randn(4, 3), torch.full((4,), -1), torch.arange(4))
    >>> loss, logits = joint_objective(LabelKnowledge(np.array([0, 0, 1, 1])), least=1)(nn.Linear(3, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([4, 2]))
    """

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        values, index = logits.float(), batch.index
        recent = network.recent() if isinstance(network, RecentOutputs) else None
        loss = joint_loss(values, index, known, recent, least)
        if isinstance(network, RecentOutputs) and network.training:
            network.remember(index, values)
        return loss, logits

    return objective


def joint_loss(
    logits: Tensor,
    index: Tensor,
    known: Known,
    recent: tuple[Tensor, Tensor] | None = None,
    least: int = LEAST,
) -> Tensor:
    """Of a batch of items `index`, int64 (b,); `recent` are other items, int64 (n,), and their logits (n, K).

    Each known pair counts once: in joint MCL where both items are matched, otherwise in MCL. Both are means over all
    that is known of the batch, its items or its pairs.
    """
    index = index.to(logits.device)
    items, mean, place = by_item(index, logits.detach())
    memory = None
    if recent is not None:
        others = ~torch.isin(recent[0], items)  # an item is no evidence about itself
        items, memory = torch.cat([recent[0][others], items]), recent[1][others]
    outputs = joint_targets(mean, known.among(items.cpu().numpy(), logits.device), memory=memory, least=least)[place]
    matched = outputs >= 0
    if bool(matched.all()):
        return nll_loss(logits.log_softmax(1), outputs)
    table = BetweenItems(known.among(index.cpu().numpy(), logits.device), item_numbers(index))
    same, weight = dense(table, len(index))  # (b, b)
    assert weight is not None
    rest = weight.masked_fill(matched[:, None] & matched, 0)
    joint = nll_loss(logits.log_softmax(1), outputs, ignore_index=-1, reduction="sum")
    share = rest.sum() / weight.sum().clamp_min(torch.finfo(weight.dtype).tiny)
    return joint / (weight.any(1) | matched).sum().clamp_min(1) + share * mcl(logits, same, weight=rest)


def by_item(index: Tensor, logits: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The items of a batch, int64 (n,), the mean logits of their views, (n, K), and the place of each row, (b,).

    >>> by_item(torch.tensor([5, 3, 5]), torch.tensor([[1.0, 0.0], [0.0, 0.0], [3.0, 0.0]]))
    (tensor([3, 5]), tensor([[0., 0.],
            [2., 0.]]), tensor([1, 0, 1]))
    """
    items, place, count = torch.unique(index, return_inverse=True, return_counts=True)
    mean = logits.new_zeros(len(items), logits.shape[1]).index_add_(0, place, logits) / count[:, None]
    return items, mean, place
