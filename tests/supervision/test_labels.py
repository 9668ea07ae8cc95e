"""Supervised learning from labels: the network may learn who belongs together, never which class it is."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from likewise import KCL, MCL
from likewise.supervision import label_objective
from likewise.training import Batch

INPUTS = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(12) % 3


@pytest.mark.parametrize("criterion", [MCL(), KCL()], ids=["mcl", "kcl"])
def test_renaming_the_classes_changes_nothing(criterion: nn.Module) -> None:
    network = nn.Linear(5, 3)
    losses = []
    for labels in (LABELS, (LABELS + 1) % 3, LABELS * 17 + 4):
        loss, logits = label_objective(criterion)(network, Batch(INPUTS, labels, torch.arange(12)))
        assert logits.shape == (12, 3)
        losses.append(loss.item())
    assert losses[0] == losses[1] == losses[2]


def test_the_twin_is_cross_entropy_on_the_same_logits() -> None:
    network = nn.Linear(5, 3)
    loss, logits = label_objective(nn.CrossEntropyLoss())(network, Batch(INPUTS, LABELS, torch.arange(12)))
    assert torch.equal(loss, nn.functional.cross_entropy(network(INPUTS), LABELS))
    assert torch.equal(logits, network(INPUTS))
