"""Outputs in the order of the classes: what is permuted, what stays, and what cannot be permuted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.landscape.job import FixedBatch, aligned, mean_loss, output_order
from likewise.networks import MLP

Items = Callable[..., tuple[Tensor, Tensor]]


class Lookup(nn.Module):
    """Says of an item what its first inputs say, in an order of its own."""

    def __init__(self, order: list[int]) -> None:
        super().__init__()
        self.last = nn.Linear(len(order), len(order))
        self.last.weight.data = 8 * torch.eye(len(order))[order]
        self.last.bias.data = torch.arange(len(order)) / 100.0

    def forward(self, inputs: Tensor) -> Tensor:
        out: Tensor = self.last(inputs)
        return out


def batch(n: int = 12, n_classes: int = 3) -> FixedBatch:
    labels = torch.arange(n) % n_classes
    return FixedBatch(torch.eye(n_classes)[labels], labels)


def test_cross_entropy_is_low_after_alignment_and_pairs_do_not_notice() -> None:
    network, items = Lookup([2, 0, 1]), batch()
    (found,) = aligned([network], [items])
    with torch.no_grad():
        before, after = (
            {loss: mean_loss(loss, [each(items.inputs)], [items]) for loss in ("ce", "mcl", "kcl")}
            for each in (network, found)
        )
    assert before["ce"] > 5
    assert after["ce"] < 0.01
    assert after["mcl"] == pytest.approx(before["mcl"])
    assert after["kcl"] == pytest.approx(before["kcl"], abs=1e-6)
    assert torch.equal(network.last.weight, 8 * torch.eye(3)[[2, 0, 1]])  # the network itself is left alone


def test_a_network_in_order_stays_the_same_object() -> None:
    network = Lookup([0, 1, 2])
    assert aligned([network], [batch()])[0] is network


def test_without_labels_the_others_follow_the_first() -> None:
    items = batch()
    same = torch.full((12, 12), torch.nan)
    answered = [FixedBatch(items.inputs, same)]
    first, second = aligned([Lookup([2, 0, 1]), Lookup([1, 2, 0])], answered)
    assert torch.equal(first(items.inputs).argmax(1), second(items.inputs).argmax(1))
    assert torch.equal(first.last.weight, 8 * torch.eye(3)[[2, 0, 1]])


def test_every_output_has_one_place() -> None:
    outputs = torch.eye(5)[[4, 4, 1, 1]]
    assert output_order(outputs, torch.tensor([0, 0, 1, 1]), n_classes=2).tolist() == [4, 1, 0, 2, 3]
    few = output_order(torch.eye(2)[[0, 1, 1]], torch.tensor([2, 1, 1]), n_classes=3)  # more classes than outputs
    assert sorted(few.tolist()) == [0, 1]


def test_a_network_without_a_last_layer_is_refused_only_where_it_matters() -> None:
    class Turned(nn.Module):
        def forward(self, inputs: Tensor) -> Tensor:
            return inputs.flip(1)

    with pytest.raises(InputError, match="without a linear layer called `last`"):
        aligned([Turned()], [batch()])
    assert aligned([nn.Identity()], [batch()])


def test_modes_are_left_as_they_were(items: Items) -> None:
    inputs, labels = items(12, (6,), 3)
    network = MLP(3, (6,)).train()
    aligned([network], [FixedBatch(inputs, labels)])
    assert network.training
    assert all(module.training for module in network.modules())
    assert aligned([network], [FixedBatch(inputs, labels)])[0].training
