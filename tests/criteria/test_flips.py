"""MCL for answers that may be wrong, against a double loop in float64."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from likewise.criteria import flipped_mcl, mcl

NAN = math.nan


def double_loop(logits: Tensor, same: Tensor, flip: float, weight: Tensor | None) -> Tensor:
    p = logits.double().softmax(1)
    total, count = torch.zeros((), dtype=torch.float64), 0.0
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            if not math.isnan(s := float(same[i, j])):
                s_hat = (p[i] * p[j]).sum()
                said = (1 - flip) * s_hat + flip * (1 - s_hat)
                w = 1.0 if weight is None else float(weight[i, j])
                total = total - w * (s * said.log() + (1 - s) * (1 - said).log())
                count += w
    return total / count


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("flip", [0.01, 0.2, 0.45])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient(scale: float, flip: float, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (scale * torch.randn(8, 4, generator=generator)).requires_grad_()
    same = torch.rand(8, 8, generator=generator).round()
    same[torch.rand(8, 8, generator=generator) < 0.3] = NAN
    weight = torch.rand(8, 8, generator=generator) if weighted else None
    loss = flipped_mcl(logits, same, flip, weight)
    expected = double_loop(logits, same, flip, weight)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=1e-6)
    (gradient,) = torch.autograd.grad(loss, logits)
    (exact,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, exact, rtol=1e-3, atol=1e-6)


def test_listed_pairs_are_those_of_the_matrix() -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    same = torch.rand(6, 6, generator=torch.Generator().manual_seed(2))
    pairs = torch.triu_indices(6, 6, 1).T
    listed = flipped_mcl(logits, same[pairs[:, 0], pairs[:, 1]], 0.1, pairs=pairs)
    torch.testing.assert_close(listed, flipped_mcl(logits, same, 0.1))


def test_no_flips_is_mcl() -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    same = torch.rand(6, 6, generator=torch.Generator().manual_seed(2)).round().triu(1) + torch.tril(
        torch.full((6, 6), NAN)
    )
    torch.testing.assert_close(flipped_mcl(logits, same, 0.0), mcl(logits, same))


def test_the_rate_can_be_learned() -> None:
    """Sure and right about all pairs, of which one answer in four says otherwise: the likeliest rate is a quarter."""
    logits = 30 * torch.eye(2)[torch.tensor([0, 1] * 8)]
    same = (torch.arange(16)[:, None] % 2 == torch.arange(16) % 2).float()
    left, right = torch.triu_indices(16, 16, 1)
    wrong = torch.arange(len(left)) % 4 == 0
    same[left[wrong], right[wrong]] = 1 - same[left[wrong], right[wrong]]
    flip = torch.tensor(0.1, requires_grad=True)
    for _ in range(300):
        (slope,) = torch.autograd.grad(flipped_mcl(logits, same, flip), flip)
        flip = (flip - 0.02 * slope).detach().requires_grad_()
    assert float(flip.detach()) == pytest.approx(0.25, abs=1e-3)


def test_nothing_known_is_a_loss_of_zero_that_can_be_differentiated() -> None:
    logits = torch.randn(3, 2, requires_grad=True)
    loss = flipped_mcl(logits, torch.full((3, 3), NAN), 0.1)
    loss.backward()
    assert float(loss.detach()) == 0
    assert logits.grad is not None
    assert not logits.grad.any()
