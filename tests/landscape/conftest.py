"""Small networks with weights that no layer leaves alone, items for them, and the plain way to a loss surface."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor, nn

from likewise.landscape.job import FixedBatch
from likewise.landscape.surface import Plane
from likewise.networks import build

Reference = Callable[[nn.Module, Plane, float, float, Tensor, bool], Tensor]


def lively(name: str | nn.Module, n_classes: int, shape: tuple[int, ...], seed: int = 0) -> nn.Module:
    """A network whose batch-norms have scales of both signs, shifts, and statistics of their own."""
    network = build(name, n_classes, shape, seed=seed) if isinstance(name, str) else name
    random = torch.Generator().manual_seed(seed + 100)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            for tensor in (module.weight, module.bias, module.running_mean):
                assert tensor is not None
                tensor.data = torch.randn(tensor.shape, generator=random)
            assert module.running_var is not None
            module.running_var.data = 0.5 + torch.rand(module.running_var.shape, generator=random)
    return network


def items(n: int, shape: tuple[int, ...], n_classes: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Each class is bright in a part of its own."""
    labels = torch.arange(n) % n_classes
    inputs = torch.randn(n, *shape, generator=torch.Generator().manual_seed(seed))
    inputs.flatten(1)[torch.arange(n), labels] += 6
    return inputs, labels


@pytest.fixture(name="lively", scope="session")
def lively_fixture() -> Callable[..., nn.Module]:
    return lively


@pytest.fixture(name="items", scope="session")
def items_fixture() -> Callable[..., tuple[Tensor, Tensor]]:
    return items


@pytest.fixture
def batches() -> tuple[FixedBatch, ...]:
    inputs, labels = items(24, (6,), 3)
    return tuple(FixedBatch(*part) for part in zip(inputs.split(10), labels.split(10), strict=True))


@pytest.fixture(scope="session")
def plain_logits() -> Reference:
    """The network itself, in float64, with the weights of one point loaded into it."""

    def logits(network: nn.Module, plane: Plane, alpha: float, beta: float, inputs: Tensor, recompute: bool) -> Tensor:
        point = {
            name: plane.centre[name].double() + alpha * plane.delta[name].double() + beta * plane.eta[name].double()
            for name in plane.centre
        }
        twin = copy.deepcopy(network).double().train(recompute)
        twin.load_state_dict(point, strict=False)
        with torch.no_grad():
            out: Tensor = twin(inputs.double())
        return out

    return logits


def naive_loss(loss: str, logits: Sequence[Tensor], labels: Sequence[Tensor]) -> float:
    """The paper's equations in float64, item by item and pair by pair."""
    losses = []
    for part, classes in zip(logits, labels, strict=True):
        p = part.double().softmax(1)
        for i in range(len(p)):
            if loss == "ce":
                losses.append(-p[i, classes[i]].log())
            for j in range(i + 1, len(p)) if loss != "ce" else ():
                same = bool(classes[i] == classes[j])
                if loss == "mcl":
                    s_hat = (p[i] * p[j]).sum()
                    losses.append(-(s_hat if same else 1 - s_hat).log())
                else:
                    ways = [(p[a] * (p[a].log() - p[b].log())).sum() for a, b in ((i, j), (j, i))]
                    losses.append(sum(kl if same else (2.0 - kl).clamp_min(0) for kl in ways))
    return float(torch.stack([torch.as_tensor(value) for value in losses]).mean())


@pytest.fixture(name="naive_loss", scope="session")
def naive_loss_fixture() -> Callable[..., float]:
    return naive_loss
