"""Several partitions of a pile, each an opinion: two items are the same as far as the opinions agree that they are.

    S(i, j) = share of the partitions that have i and j in one cluster

One partition says 0 or 1 of every pair; where clusters are hard to tell apart, several differ, and S says so.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from likewise.supervision.answers import AnsweredBatch


def consensus(opinions: Tensor) -> Tensor:
    """S (b, b) of opinions (b, R): the cluster of each item in each of R partitions.

    >>> import torch
    >>> consensus(torch.tensor([[0, 0], [0, 1], [1, 1]]))
    tensor([[1.0000, 0.5000, 0.0000],
            [0.5000, 1.0000, 0.5000],
            [0.0000, 0.5000, 1.0000]])
    """
    return (opinions[:, None] == opinions).float().mean(2)


def consensus_objective(
    opinions: Tensor, criterion: Callable[[Tensor, Tensor], Tensor]
) -> Callable[[nn.Module, AnsweredBatch], tuple[Tensor, Tensor]]:
    """The objective for `train` of a classifier, with opinions (n, R) about all items; labels are not looked at.

    >>> import torch
    >>> from likewise.criteria import MCL
    >>> from likewise.training import Batch
    >>> opinions = torch.tensor([[0, 0], [0, 1], [1, 1]])  # two partitions of three items
    >>> batch = Batch(torch.randn(3, 5), torch.full((3,), -1), torch.arange(3))
    >>> loss, logits = consensus_objective(opinions, MCL())(nn.Linear(5, 2), batch)
    >>> loss.shape, logits.shape
    (torch.Size([]), torch.Size([3, 2]))
    """

    def objective(network: nn.Module, batch: AnsweredBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        same = consensus(opinions[batch.index.to(opinions.device)]).to(logits.device)
        return criterion(logits.float(), same), logits

    return objective
