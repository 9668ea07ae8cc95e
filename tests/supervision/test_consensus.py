"""How far several partitions agree, and the objective that learns it, against double loops."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from likewise.criteria import MCL
from likewise.supervision import consensus_objective
from likewise.supervision.consensus import consensus
from likewise.training import Batch

OPINIONS = torch.randint(3, (9, 5), generator=torch.Generator().manual_seed(0))


class Fixed(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.logits


def agreed(i: int, j: int) -> float:
    return sum(int(OPINIONS[i, r] == OPINIONS[j, r]) for r in range(5)) / 5


def test_consensus_is_the_share_of_partitions_that_agree() -> None:
    found = consensus(OPINIONS)
    for i in range(9):
        for j in range(9):
            assert float(found[i, j]) == pytest.approx(agreed(i, j))


def test_one_partition_says_yes_or_no_and_its_numbers_do_not_matter() -> None:
    one = OPINIONS[:, :1]
    assert set(consensus(one).unique().tolist()) == {0.0, 1.0}
    assert torch.equal(consensus(one), consensus(7 - one))


def test_the_objective_is_of_the_items_at_hand_and_not_of_their_labels() -> None:
    index = [4, 0, 4, 7]  # one of them twice
    network = Fixed(torch.randn(4, 3, generator=torch.Generator().manual_seed(1)))
    labels = torch.tensor([0, 1, 2, 0])
    loss, logits = consensus_objective(OPINIONS, MCL())(network, Batch(torch.zeros(4, 1), labels, torch.tensor(index)))
    p = network.logits.detach().double().softmax(1).tolist()
    total = 0.0
    for a in range(4):
        for b in range(a):
            s = sum(p[a][k] * p[b][k] for k in range(3))
            target = agreed(index[a], index[b])
            total -= target * math.log(s) + (1 - target) * math.log(1 - s)
    assert float(loss.detach()) == pytest.approx(total / 6, rel=1e-5)
    assert logits is network.logits
    loss.backward()  # type: ignore[no-untyped-call]
    assert network.logits.grad is not None
    assert network.logits.grad.abs().min() > 0
