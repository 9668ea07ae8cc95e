"""Answers with smoothness around all items, against the formula item by item."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from likewise.pairs import Pairs
from likewise.supervision import AnswerKnowledge, smooth_objective
from likewise.supervision.smooth import IN_USE, INFORMATION


class Items(NamedTuple):
    inputs: Tensor
    index: Tensor  # type: ignore[assignment]


def test_a_linear_classifier_has_the_loss_of_the_formula() -> None:
    """Of two classes by a linear network, the change that upsets most is known: along the difference of the weights."""
    torch.manual_seed(0)
    network = nn.Linear(3, 2)
    x = torch.randn(5, 3)
    pairs = Pairs.from_arrays([(0, 1), (2, 3)], [1, 0]).index(5)
    loss, logits = smooth_objective(AnswerKnowledge(pairs), radius=0.05)(network, Items(x, torch.arange(5)))
    assert torch.equal(logits, network(x))

    weight = network.weight.detach().double().numpy()
    normal = (weight[0] - weight[1]) / np.linalg.norm(weight[0] - weight[1])
    p = [_softmax(weight @ row + network.bias.detach().double().numpy()) for row in x.double().numpy()]
    told = [-math.log(p[0] @ p[1]), -math.log(1 - p[2] @ p[3])]
    rough = []
    for row, clean in zip(x.double().numpy(), p, strict=True):
        ways = [
            _softmax(weight @ (row + sign * 0.05 * normal) + network.bias.detach().double().numpy()) for sign in (1, -1)
        ]
        rough.append([sum(a * math.log(a / b) for a, b in zip(clean, way, strict=True)) for way in ways])
    unsure = np.mean([-sum(a * math.log(a) for a in row) for row in p])
    mean = np.mean(p, axis=0)
    rest = np.mean(told) + INFORMATION * (unsure + IN_USE * sum(a * math.log(a) for a in mean))
    low, high = (rest + np.mean([pick(two) for two in rough]) for pick in (min, max))
    assert low - 1e-6 < loss.item() < high + 1e-6
    assert high - low < 0.02 * (loss.item() - rest)  # both ways are nearly as bad, so that this says something


def test_a_class_out_of_use_comes_back() -> None:
    """All items at one output, and no answer among them: only the term that wants all classes in use moves anything."""
    network = nn.Linear(2, 2)
    with torch.no_grad():
        network.weight.zero_()
        network.bias.copy_(torch.tensor([2.0, 0.0]))
    pairs = Pairs.from_arrays([(4, 5)], [1]).index(6)
    objective = smooth_objective(AnswerKnowledge(pairs), radius=0.1)
    loss, _ = objective(network, Items(torch.randn(4, 2), torch.arange(4)))
    loss.backward()
    assert network.bias.grad is not None
    assert network.bias.grad[0] > 0 > network.bias.grad[1]


def test_neighbours_count_as_the_same_with_a_doubt() -> None:
    torch.manual_seed(0)
    network = nn.Linear(3, 4)
    x, near = torch.randn(5, 3), torch.randn(5, 3)
    known = AnswerKnowledge(Pairs.from_arrays([(0, 1)], [1]).index(5))
    losses = []
    for neighbours in (None, lambda index: near[index]):
        torch.manual_seed(1)  # for the direction that smoothness begins from
        loss, _ = smooth_objective(known, radius=0.05, neighbours=neighbours)(network, Items(x, torch.arange(5)))
        losses.append(loss.item())
    here, there = ([_softmax(row) for row in network(rows).detach().double().numpy()] for rows in (x, near))
    expected = [
        -0.3 * math.log(0.05 + 0.9 * sum(a * b for a, b in zip(*two, strict=True)))
        for two in zip(here, there, strict=True)
    ]
    assert losses[1] - losses[0] == pytest.approx(np.mean(expected), abs=1e-5)


def _softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max())
    return np.asarray(p / p.sum())
