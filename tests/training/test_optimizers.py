"""Learning rates at steps whose rate is known; optimizers beside torch's own."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from typing import Any

import pytest
import torch
from torch import nn
from torch.optim import SGD, Adam, AdamW

from likewise.training.optimizers import learning_rate, uncompiled
from likewise.training.settings import Settings


def test_step_divides_by_ten_from_each_drop_on() -> None:
    settings = Settings(epochs=6, learning_rate=0.2, drops=(2, 5))
    rates = [learning_rate(settings, epoch, step, 3) for epoch in range(6) for step in range(3)]
    assert rates == pytest.approx([0.2] * 6 + [0.02] * 9 + [0.002] * 3, rel=1e-12)


def test_one_cycle_is_a_line_up_and_a_cosine_down_to_zero() -> None:
    settings = Settings(epochs=10, learning_rate=0.5, schedule="one-cycle")
    rates = [learning_rate(settings, epoch, step, 100) for epoch in range(10) for step in range(100)]
    climb, fall = rates[:300], rates[300:]
    assert climb == pytest.approx([0.5 * (step + 0.5) / 300 for step in range(300)])
    assert fall[350] == pytest.approx(0.25, rel=0.01)  # half way down the cosine
    assert fall == pytest.approx([0.25 * (1 + math.cos(math.pi * (step + 0.5) / 700)) for step in range(700)])
    assert 0 < rates[-1] < 1e-5
    assert max(rates) < 0.5


def test_one_cycle_of_a_single_step_still_learns() -> None:
    assert learning_rate(Settings(epochs=1, learning_rate=1.0, schedule="one-cycle"), 0, 0, 1) > 0.5


@pytest.mark.parametrize("kind", [SGD, Adam, AdamW])
def test_steps_without_the_compiler_are_those_of_torch(kind: type[Any]) -> None:
    networks = [nn.Linear(5, 3), nn.Linear(5, 3)]
    networks[1].load_state_dict(networks[0].state_dict())
    inputs = torch.randn(7, 5, generator=torch.Generator().manual_seed(0))
    for network, optimizer_of in zip(networks, (kind, uncompiled(kind)), strict=True):
        optimizer = optimizer_of(network.parameters(), lr=0.1, weight_decay=0.01, fused=True)
        for _ in range(3):
            optimizer.zero_grad()
            network(inputs).square().sum().backward()
            optimizer.step()
    assert torch.equal(networks[0].weight, networks[1].weight)


def test_training_does_not_import_the_compiler() -> None:
    code = """
    import sys, torch
    from likewise.training.optimizers import build_optimizer
    from likewise.training.settings import Settings
    network = torch.nn.Linear(2, 2)
    optimizer = build_optimizer(network, Settings(), torch.device("cpu"))
    optimizer.zero_grad()
    network(torch.ones(1, 2)).sum().backward()
    optimizer.step()
    sys.exit("torch._dynamo" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)
