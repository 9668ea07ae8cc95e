"""Distances between neighbours in a pile, against a loop over all of them.

Predictions in evaluation mode, in batches, from a network that is left as it was.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from likewise.training import NetworkInputs, evaluating, predict_logits


def test_spacing_is_the_median_distance_to_the_third_neighbour() -> None:
    x = torch.randn(60, 4, generator=torch.Generator().manual_seed(0))
    mean, std = (0.5, 0.0, 0.0, 0.0), (1.0, 2.0, 1.0, 1.0)
    rows = ((x - torch.tensor(mean)) / torch.tensor(std)).double().numpy()
    third = [sorted(np.linalg.norm(row - other) for other in rows)[3] for row in rows]
    # torch takes the lower of the two in the middle
    assert NetworkInputs(x, mean, std).spacing(seed=0) == pytest.approx(sorted(third)[29], rel=1e-4)


def test_spacing_of_equal_items_is_zero_and_of_two_is_their_distance() -> None:
    assert NetworkInputs(torch.ones(9, 3)).spacing(seed=0) == pytest.approx(0, abs=1e-3)
    assert NetworkInputs(torch.tensor([[0.0], [2.0]])).spacing(seed=0) == pytest.approx(2)


def network() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 2))


def test_equals_the_plain_call_for_any_batch_size() -> None:
    net, inputs = network(), torch.arange(5 * 48).remainder(256).to(torch.uint8).view(5, 3, 4, 4)
    mean, std = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    normal = (inputs / 255 - torch.tensor(mean).view(3, 1, 1)) / torch.tensor(std).view(3, 1, 1)
    with torch.no_grad():
        expected = net.eval()(normal)
    net.train()
    for batch_size in (1, 2, 5, 100):
        torch.testing.assert_close(predict_logits(net, inputs, mean=mean, std=std, batch_size=batch_size), expected)


def test_the_network_is_as_it_was() -> None:
    net = network()
    net[1].eval()  # a part that its owner has frozen
    before = {name: value.clone() for name, value in net.state_dict().items()}
    predict_logits(net, torch.zeros(2, 3, 4, 4))
    assert [module.training for module in net] == [True, False, True, True, True]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_modes_return_after_an_error() -> None:
    net = network()
    with pytest.raises(RuntimeError, match="channels"), evaluating(net):
        net(torch.zeros(2, 99, 4, 4))
    assert all(module.training for module in net)


def test_result_is_float32_on_the_cpu_and_autograd_accepts_it() -> None:
    logits = predict_logits(nn.Linear(2, 3), torch.ones(4, 2, dtype=torch.float64), device="cpu")
    assert logits.dtype == torch.float32
    assert not logits.requires_grad
    weight = torch.ones(3, requires_grad=True)
    (logits @ weight).sum().backward()  # type: ignore[no-untyped-call]
    assert weight.grad is not None


def test_no_items_give_no_rows() -> None:
    assert predict_logits(nn.Linear(2, 3), torch.zeros(0, 2)).shape == (0, 3)


def test_a_network_that_is_elsewhere_stays_there() -> None:
    """No numbers come back from the device "meta"; a network that was moved to it would have lost its weights."""
    net = nn.Sequential(nn.Linear(2, 3), nn.Dropout())
    with pytest.raises(NotImplementedError, match="meta"):
        predict_logits(net, torch.zeros(4, 2), device="meta")
    assert {value.device.type for value in net.state_dict().values()} == {"cpu"}
    assert all(module.training for module in net.modules())
