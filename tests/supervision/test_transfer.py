"""The objective of the similarity network against a loop, and that it learns what "same" means on other classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from likewise.criteria import MCL
from likewise.networks import SimilarityModule, build
from likewise.supervision import contrastive_objective, similarity_objective, transfer_objective
from likewise.training import Batch, ClassOrder, Settings, TensorBatches, train


class Fixed(nn.Module):
    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.logits


def test_against_a_double_loop() -> None:
    labels = [4, 4, -1, 2, 4]
    network = Fixed(torch.randn(5, 5, generator=torch.Generator().manual_seed(0)))
    loss, _ = similarity_objective()(network, Batch(torch.zeros(5, 1), torch.tensor(labels), torch.arange(5)))
    total, count = 0.0, 0
    for i in range(5):
        for j in range(5):
            if i != j and labels[i] >= 0 and labels[j] >= 0:
                p = 1 / (1 + math.exp(-float(network.logits[i, j].detach())))
                total -= math.log(p if labels[i] == labels[j] else 1 - p)
                count += 1
    assert float(loss.detach()) == pytest.approx(total / count, rel=1e-5)
    loss.backward()
    assert network.logits.grad is not None
    assert not network.logits.grad.diagonal().any()
    assert not network.logits.grad[2].any()


def test_contrastive_against_a_loop() -> None:
    labels = [4, 4, -1, 2, 4, 7, 2]  # 7 is alone and gives no term, but is one of the others for the rest
    network = Fixed(torch.randn(7, 7, generator=torch.Generator().manual_seed(0)))
    loss, _ = contrastive_objective()(network, Batch(torch.zeros(7, 1), torch.tensor(labels), torch.arange(7)))
    z, terms = network.logits.detach().tolist(), []
    for i in range(7):
        others = [k for k in range(7) if k != i and labels[k] >= 0]
        alike = [j for j in others if labels[j] == labels[i] >= 0]
        if alike:
            below = sum(math.exp(z[i][k]) for k in others)
            terms.append(sum(-math.log(math.exp(z[i][j]) / below) for j in alike) / len(alike))
    assert len(terms) == 5
    assert float(loss.detach()) == pytest.approx(sum(terms) / 5, rel=1e-5)
    loss.backward()
    assert network.logits.grad is not None
    assert network.logits.grad.isfinite().all()
    assert not network.logits.grad[[2, 5]].any()


@pytest.mark.parametrize("objective", [similarity_objective, contrastive_objective])
def test_nothing_known_is_a_loss_of_zero(objective: Callable[[], Any]) -> None:
    network = Fixed(torch.randn(2, 2))
    loss, _ = objective()(network, Batch(torch.zeros(2, 1), torch.tensor([-1, 3]), torch.arange(2)))
    assert float(loss.detach()) == 0
    loss.backward()
    assert network.logits.grad is not None
    assert not network.logits.grad.any()


def test_a_teacher_in_place_of_labels() -> None:
    inputs = torch.randn(6, 3, generator=torch.Generator().manual_seed(0))
    taught = torch.rand(6, 6, generator=torch.Generator().manual_seed(1))
    network = nn.Linear(3, 4)
    batch = Batch(inputs, torch.tensor([-1, 0, 1, 2, 3, 4]), torch.arange(6))
    loss, logits = transfer_objective(lambda x: taught if x is inputs else -taught, MCL())(network, batch)
    assert torch.equal(loss, MCL()(logits, (taught > 0.5).float()))


def test_same_is_learned_and_carries_over_to_other_classes() -> None:
    """Points around a hundred places of the plane; the last ten places are never seen in training."""
    generator = torch.Generator().manual_seed(1)
    places = 10 * torch.rand(100, 2, generator=generator)
    labels = torch.arange(800) % 100
    points = places[labels] + 0.1 * torch.randn(800, 2, generator=generator)
    known = labels < 90
    torch.manual_seed(0)
    network = SimilarityModule(build("mlp", 2, (2,)), hidden=256)
    order = ClassOrder(labels[known], classes=20, items=4)
    batches = TensorBatches(points[known], labels[known], 80, order=order)
    train(network, batches, similarity_objective(), Settings(epochs=40, precision="float32"), progress=False)
    network.eval()
    new, truth = points[~known], labels[~known]
    similarity = network.similarity(new) > 0.5
    same = truth[:, None] == truth
    assert similarity[same].float().mean() > 0.8
    assert similarity[~same].float().mean() < 0.1
