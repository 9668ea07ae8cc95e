"""The contenders: that all forms of a criterion compute the same thing, and that the naive ones need what they say."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import softmax

from likewise.benchmarks.contenders import (
    EPSILON,
    LOSSES,
    MARGIN,
    contender,
    naive_bytes,
    naive_kcl,
    naive_mcl,
    products,
)
from likewise.benchmarks.measure import MEBIBYTE, mebibytes_alone
from likewise.criteria import kcl, mcl

LABELS = torch.tensor([0, 1, 0, 2, 1, 1])


@pytest.fixture
def logits() -> Tensor:
    return torch.randn(6, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3)).requires_grad_()


def value_and_gradient(loss: Tensor, logits: Tensor) -> tuple[Tensor, Tensor]:
    return loss.detach(), torch.autograd.grad(loss, logits)[0]


def test_naive_mcl_is_our_mcl_with_self_pairs(logits: Tensor) -> None:
    naive = value_and_gradient(naive_mcl(logits, LABELS), logits)
    ours = value_and_gradient(mcl(logits, LABELS, self_pairs=True), logits)
    torch.testing.assert_close(naive, ours, rtol=20 * EPSILON, atol=EPSILON)


def test_naive_kcl_is_half_our_kcl_with_self_pairs(logits: Tensor) -> None:
    naive = value_and_gradient(2 * naive_kcl(logits, LABELS), logits)
    ours = value_and_gradient(kcl(logits, LABELS, margin=MARGIN, self_pairs=True), logits)
    torch.testing.assert_close(naive, ours, rtol=20 * EPSILON, atol=EPSILON)


@pytest.mark.parametrize("name", LOSSES)
def test_a_contender_gives_the_gradient_of_its_loss_on_the_one_batch(name: str) -> None:
    generator = torch.Generator().manual_seed(0)
    batch = torch.randn(5, 4, generator=generator).requires_grad_()
    labels = torch.randint(4, (5,), generator=generator)
    call = contender(name, 5, 4)
    expected = torch.autograd.grad(LOSSES[name](batch, labels), batch)[0]
    assert expected.abs().sum() > 0
    assert torch.equal(call(), expected)
    assert torch.equal(call(), expected)  # nothing is carried from one call to the next


def test_products_have_the_sizes_of_the_criterion() -> None:
    p, slope = contender("products", 5, 4).args  # type: ignore[attr-defined]
    assert slope.shape == (5, 5)
    torch.testing.assert_close(p.sum(1), torch.ones(5))
    torch.testing.assert_close(products(p, slope), torch.einsum("ij,jk->ik", slope, p))
    same_batch = torch.randn(5, 4, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(p, softmax(same_batch, 1))


@pytest.mark.parametrize("name", ["naive-mcl", "naive-kcl"])
def test_naive_memory_is_what_was_estimated_whatever_the_parent_had(name: str) -> None:
    large_parent = b"x" * (300 * MEBIBYTE)  # a child's ru_maxrss would start from here, and show no growth
    measured = mebibytes_alone("likewise.benchmarks.contenders", name, "200", "100", "1")
    assert large_parent[-1:] == b"x"
    assert measured == pytest.approx(naive_bytes(name, 200, 100) / MEBIBYTE, rel=0.25)
