"""MCL for people who mix up certain classes, against a double loop in float64; and that the classes are found."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from likewise.criteria import evidence_mcl, flipped_mcl
from likewise.criteria.confusion import confusion_mcl, confusion_prior, volume


def double_loop(logits: Tensor, same: Tensor, b: Tensor, weight: Tensor | None) -> Tensor:
    """Over (i, j) and (j, i), each of which counts one half."""
    p = logits.double().softmax(1)
    total, count = torch.zeros((), dtype=torch.float64), 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i == j or math.isnan(s := float(same[i, j])):
                continue
            said = torch.zeros((), dtype=torch.float64)
            for k in range(p.shape[1]):
                for m in range(p.shape[1]):
                    said = said + p[i, k] * b[k, m] * p[j, m]
            w = 0.5 if weight is None else 0.5 * float(weight[i, j])
            total = total - w * (s * said.log() + (1 - s) * (1 - said).log())
            count += w
    return total / count


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient(scale: float, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (scale * torch.randn(7, 4, generator=generator)).requires_grad_()
    raw = torch.rand(4, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    b = (raw + raw.T) / 2
    same = torch.rand(7, 7, generator=generator).round()
    same[torch.rand(7, 7, generator=generator) < 0.3] = math.nan
    weight = torch.rand(7, 7, generator=generator) if weighted else None
    loss, expected = confusion_mcl(logits, same, b, weight), double_loop(logits, same, b, weight)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=1e-6)
    for found, exact in zip(
        torch.autograd.grad(loss, (logits, raw), retain_graph=True),
        torch.autograd.grad(expected, (logits, raw)),
        strict=True,
    ):
        torch.testing.assert_close(found.double(), exact.double(), rtol=1e-3, atol=1e-6)


def test_one_rate_for_all_classes_is_a_flip() -> None:
    generator = torch.Generator().manual_seed(1)
    logits, pairs = torch.randn(6, 3, generator=generator), torch.triu_indices(6, 6, 1).T
    same = torch.rand(15, generator=generator).round()
    alike = torch.full((3, 3), 0.2).fill_diagonal_(0.8)
    flipped = flipped_mcl(logits, same, 0.2, pairs=pairs, reduction="none")
    torch.testing.assert_close(confusion_mcl(logits, same, alike, pairs=pairs, reduction="none"), flipped)
    likely = torch.where(same > 0.5, 0.8, 0.2)
    torch.testing.assert_close(evidence_mcl(logits, likely, pairs=pairs, reduction="none"), flipped)


def test_evidence_of_one_half_says_nothing() -> None:
    logits = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = evidence_mcl(logits, torch.full((4, 4), 0.5))
    assert loss.item() == pytest.approx(math.log(2))
    (gradient,) = torch.autograd.grad(loss, logits)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient))


def test_prior_and_volume_have_their_largest_values_where_they_should() -> None:
    usual = torch.full((3, 3), 0.1, dtype=torch.float64).fill_diagonal_(0.9).requires_grad_()
    (gradient,) = torch.autograd.grad(confusion_prior(usual), usual)
    torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-8, rtol=0)
    sharp = 50 * torch.eye(3, dtype=torch.float64).repeat(4, 1)
    assert volume(sharp).item() == pytest.approx(3 * math.log(1 / 3 + 1e-3))
    assert volume(sharp) > volume(sharp / 50) > volume(torch.zeros(12, 3, dtype=torch.float64))
