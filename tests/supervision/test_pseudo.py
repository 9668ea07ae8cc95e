"""Pseudo-similarity against its definition, item by item."""

from __future__ import annotations

import torch

from likewise.criteria import dense
from likewise.supervision import pseudo_similarity


def pseudo(logits: torch.Tensor, index: torch.Tensor, averaged: bool = True) -> torch.Tensor:
    return dense(pseudo_similarity(logits, index, averaged=averaged), len(index))[0]


def test_against_a_double_loop() -> None:
    logits = 3 * torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    index = torch.tensor([5, 3, 8, 1, 5, 3, 8, 1, 2, 7, 9, 9])
    p = logits.softmax(1)
    expected = torch.zeros(12, 12)
    for i in range(12):
        for j in range(12):
            a, b = p[index == index[i]].mean(0), p[index == index[j]].mean(0)
            expected[i, j] = float(index[i] == index[j] or (a * b).sum() > 0.5)
    assert torch.equal(pseudo(logits, index), expected)
    assert 0 < expected.mean() < 1


def test_no_gradient_flows() -> None:
    logits = torch.randn(4, 3, requires_grad=True)
    assert not pseudo(logits, torch.arange(4)).requires_grad


def test_without_the_average_each_view_speaks_for_itself() -> None:
    random = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(8, 3, generator=random)
    index = torch.arange(4).repeat(2)
    same = pseudo(logits, index, averaged=False)
    p = logits.double().softmax(1)
    for i in range(8):
        for j in range(8):
            assert same[i, j] == float(p[i] @ p[j] > 0.5 or index[i] == index[j])
    assert not torch.equal(same, pseudo(logits, index))
