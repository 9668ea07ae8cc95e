"""The moving average: the recursion, which of the two answers, and that it can be had again."""

from __future__ import annotations

import torch
from torch import nn

from likewise.supervision.semi import AveragedNetwork


def test_the_average_is_the_recursion() -> None:
    model = AveragedNetwork(nn.Linear(1, 1, bias=False).double())
    expected = float(model.average.weight)
    for t, weight in enumerate([3.0, -1.0, 4.0, 1.5]):
        model.network.weight.data.fill_(weight)
        model.follow()
        d = min(0.999, (1 + t) / (10 + t))
        expected = d * expected + (1 - d) * weight
        assert abs(float(model.average.weight) - expected) < 1e-12


def test_it_reaches_back_over_a_thousand_steps_at_most() -> None:
    model = AveragedNetwork(nn.Linear(1, 1, bias=False).double())
    model.steps += 10**6
    model.average.weight.data.fill_(0)
    model.network.weight.data.fill_(1)
    model.follow()
    assert abs(float(model.average.weight) - 0.001) < 1e-12


def test_the_network_is_trained_and_the_average_answers() -> None:
    torch.manual_seed(0)
    model = AveragedNetwork(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
    inputs = torch.randn(8, 2)
    model.network[0].weight.data.add_(1)
    model.train()
    assert not model.average.training
    before = {name: value.clone() for name, value in model.average.state_dict().items()}
    model(inputs)
    assert all(torch.equal(value, before[name]) for name, value in model.average.state_dict().items())
    model.eval()
    assert torch.equal(model(inputs), model.average(inputs))
    assert not torch.equal(model(inputs), model.network(inputs))
    wanted = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    assert wanted == {f"network.{name}" for name, _ in model.network.named_parameters()}


def test_what_batch_norm_counted_is_copied_and_all_is_part_of_the_state() -> None:
    model = AveragedNetwork(nn.BatchNorm1d(2))
    model.network(torch.randn(4, 2))
    model.follow()
    assert int(model.average.num_batches_tracked) == 1
    other = AveragedNetwork(nn.BatchNorm1d(2))
    other.load_state_dict(model.state_dict())
    assert int(other.steps) == 1
    assert torch.equal(other.average.running_mean, model.average.running_mean)
    assert not torch.equal(other.average.running_mean, other.network.running_mean)
