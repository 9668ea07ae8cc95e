"""MCL for answers that may be wrong, against a double loop in float64; and that the classes are found."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from likewise.criteria import evidence_mcl, mcl, noisy_mcl
from likewise.criteria.wrong_answers import confusion_mcl, confusion_prior, volume

NAN = math.nan


def double_loop(logits: Tensor, same: Tensor, noise: float, weight: Tensor | None) -> Tensor:
    """Over (i, j) and (j, i), each of which counts one half."""
    p = logits.double().softmax(1)
    total, count = torch.zeros((), dtype=torch.float64), 0.0
    for i in range(len(p)):
        for j in range(len(p)):
            if i != j and not math.isnan(s := float(same[i, j])):
                s_hat = (p[i] * p[j]).sum()
                said = (1 - noise) * s_hat + noise * (1 - s_hat)
                w = 0.5 if weight is None else 0.5 * float(weight[i, j])
                total = total - w * (s * said.log() + (1 - s) * (1 - said).log())
                count += w
    return total / count


@pytest.mark.parametrize("scale", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("noise", [0.01, 0.2, 0.45])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient(scale: float, noise: float, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (scale * torch.randn(8, 4, generator=generator)).requires_grad_()
    same = torch.rand(8, 8, generator=generator).round()
    same[torch.rand(8, 8, generator=generator) < 0.3] = NAN
    weight = torch.rand(8, 8, generator=generator) if weighted else None
    loss = noisy_mcl(logits, same, noise, weight)
    expected = double_loop(logits, same, noise, weight)
    torch.testing.assert_close(loss.double(), expected, rtol=1e-4, atol=1e-6)
    (gradient,) = torch.autograd.grad(loss, logits)
    (exact,) = torch.autograd.grad(expected, logits)
    torch.testing.assert_close(gradient, exact, rtol=1e-3, atol=1e-6)


def test_listed_pairs_are_those_of_the_matrix() -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    same = torch.rand(6, 6, generator=torch.Generator().manual_seed(2))
    same = (same + same.T) / 2
    pairs = torch.triu_indices(6, 6, 1).T
    listed = noisy_mcl(logits, same[pairs[:, 0], pairs[:, 1]], 0.1, pairs=pairs)
    torch.testing.assert_close(listed, noisy_mcl(logits, same, 0.1))


def test_no_flips_is_mcl() -> None:
    logits = torch.randn(6, 3, generator=torch.Generator().manual_seed(1))
    same = torch.rand(6, 6, generator=torch.Generator().manual_seed(2)).round().triu(1) + torch.tril(
        torch.full((6, 6), NAN)
    )
    torch.testing.assert_close(noisy_mcl(logits, same, 0.0), mcl(logits, same))


def test_the_rate_can_be_learned() -> None:
    """Sure and right about all pairs, of which one answer in four says otherwise: the likeliest rate is a quarter."""
    logits = 30 * torch.eye(2)[torch.tensor([0, 1] * 8)]
    same = (torch.arange(16)[:, None] % 2 == torch.arange(16) % 2).float()
    left, right = torch.triu_indices(16, 16, 1)
    wrong = torch.arange(len(left)) % 4 == 0
    same[left[wrong], right[wrong]] = same[right[wrong], left[wrong]] = 1 - same[left[wrong], right[wrong]]
    noise = torch.tensor(0.1, requires_grad=True)
    for _ in range(300):
        (slope,) = torch.autograd.grad(noisy_mcl(logits, same, noise), noise)
        noise = (noise - 0.02 * slope).detach().requires_grad_()
    assert float(noise.detach()) == pytest.approx(0.25, abs=1e-3)


def test_nothing_known_is_a_loss_of_zero_that_can_be_differentiated() -> None:
    logits = torch.randn(3, 2, requires_grad=True)
    loss = noisy_mcl(logits, torch.full((3, 3), NAN), 0.1)
    loss.backward()
    assert float(loss.detach()) == 0
    assert logits.grad is not None
    assert not logits.grad.any()


LOGITS = torch.randn(6, 3, generator=torch.Generator().manual_seed(5))
LABELS = torch.tensor([0, 1, -1, 1, -100, 0])
SAME = torch.rand(6, 6, generator=torch.Generator().manual_seed(6))
PAIRS = torch.tensor([[0, 1], [3, 2], [4, 4], [5, 0]])
FORMS: dict[str, dict[str, Tensor]] = {
    "labels": {"same": LABELS},
    "labels, weighted": {"same": LABELS, "weight": SAME},
    "matrix, weighted": {"same": SAME, "weight": SAME.T},
    "below the diagonal": {"same": SAME.masked_fill(torch.ones(6, 6).triu().bool(), NAN)},
    "pairs, one unknown": {"same": torch.tensor([1.0, NAN, 0.0, 0.3]), "pairs": PAIRS},
    "pairs, weighted": {
        "same": torch.tensor([1.0, NAN, 0, 0.3]),
        "pairs": PAIRS,
        "weight": torch.tensor([2.0, 1, 1, 3]),
    },
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("noise", [0.0, 1e-15])
def test_the_contract_is_that_of_mcl(form: str, reduction: str, dtype: torch.dtype, noise: float) -> None:
    """A rate too small to matter: the same value, shape, type and gradient, in every form."""
    told = {name: value.to(dtype) if value.is_floating_point() else value for name, value in FORMS[form].items()}
    ours, theirs = (LOGITS.clone().to(dtype).detach().requires_grad_() for _ in range(2))
    loss = noisy_mcl(ours, told["same"], noise, told.get("weight"), pairs=told.get("pairs"), reduction=reduction)  # type: ignore[arg-type]
    expected = mcl(theirs, **told, reduction=reduction)  # type: ignore[arg-type]
    assert loss.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
    torch.testing.assert_close(loss, expected)
    assert float(loss.sum().detach()) > 0
    loss.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_float64_is_computed_in_float64() -> None:
    logits = LOGITS.double()
    pairs = torch.triu_indices(6, 6, 1).T
    for noise in (0.1, torch.tensor(0.1), torch.tensor(0.1, dtype=torch.float64)):
        expected = double_loop(logits, SAME.double() / 3, float(noise), None)
        found = noisy_mcl(logits, SAME.double() / 3, noise)
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
        both = torch.cat([pairs, pairs.flip(1)])
        listed = noisy_mcl(logits, SAME.double()[both[:, 0], both[:, 1]] / 3, noise, pairs=both)
        torch.testing.assert_close(listed, expected, rtol=1e-12, atol=0)


def test_a_small_rate_is_exact_where_the_network_is_sure() -> None:
    """1 - s_hat is 2e-18, which is 0 as a difference; and with no flips at all, MCL goes on where floats end."""
    logits = torch.tensor([[41.5, 0.0], [41.5, 0.0]], requires_grad=True)
    apart = 2 * math.exp(-41.5)
    loss = noisy_mcl(logits, torch.tensor([0.0]), 1e-20, pairs=torch.tensor([[0, 1]]))
    assert float(loss.detach()) == pytest.approx(-math.log(apart + 1e-20), rel=1e-5)
    loss.backward()
    assert logits.grad is not None
    assert logits.grad[0].tolist() == pytest.approx([0.5, -0.5], rel=0.01)
    extreme = torch.tensor([[400.0, 0.0], [400.0, 0.0]])
    assert float(noisy_mcl(extreme, torch.tensor([[NAN, 0.0], [0.0, NAN]]), 0.0)) == pytest.approx(400 - math.log(2))


def test_logits_of_minus_infinity() -> None:
    logits = torch.tensor([[1.0, 2, -torch.inf], [0, -1, -torch.inf]], requires_grad=True)
    loss = noisy_mcl(logits, torch.tensor([3, 3]), 0.2)
    torch.testing.assert_close(loss, noisy_mcl(logits.detach()[:, :2], torch.tensor([3, 3]), 0.2))
    loss.backward()
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": 1.5}, "noise must be between 0 and 1, got 1.5"),
        ({"noise": NAN}, "noise must be between 0 and 1, got nan"),
        ({"noise": 0.1, "reduction": "average"}, "'mean', 'sum' or 'none'"),
        ({"noise": 0.1, "weight": -torch.ones(6, 6)}, "finite and not negative"),
    ],
)
def test_a_wrong_call_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        noisy_mcl(LOGITS, LABELS, **options)


def double_loop_with_confusion(logits: Tensor, same: Tensor, b: Tensor, weight: Tensor | None) -> Tensor:
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
def test_value_and_gradient_with_confusion(scale: float, weighted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    logits = (scale * torch.randn(7, 4, generator=generator)).requires_grad_()
    raw = torch.rand(4, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    b = (raw + raw.T) / 2
    same = torch.rand(7, 7, generator=generator).round()
    same[torch.rand(7, 7, generator=generator) < 0.3] = math.nan
    weight = torch.rand(7, 7, generator=generator) if weighted else None
    loss, expected = confusion_mcl(logits, same, b, weight), double_loop_with_confusion(logits, same, b, weight)
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
    flipped = noisy_mcl(logits, same, 0.2, pairs=pairs, reduction="none")
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
