"""float16: the gradient is scaled in the kernel's precision and cast last, as cross-entropy's is."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from likewise import kcl, mcl

B, OUTPUTS = 300, 10
DEFAULT_SCALE = 65536.0  # of torch.amp.GradScaler
BOTH = pytest.mark.parametrize("criterion", [mcl, kcl])


def situation() -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(0)
    labels = torch.randint(OUTPUTS, (B,), generator=draw)
    noise = torch.randn(B, OUTPUTS, generator=draw)
    return (3 * torch.nn.functional.one_hot(labels, OUTPUTS) + noise).half(), labels


def exact_gradient(name: str, logits: Tensor, labels: Tensor) -> Tensor:
    """In float64, over the matrix of all pairs, by torch's own derivative."""
    exact = logits.double().requires_grad_()
    log_p = exact.log_softmax(1)
    p, same = log_p.exp(), labels[:, None] == labels
    if name == "mcl":
        losses = -torch.where(same, p @ p.T, 1 - p @ p.T).log()
    else:
        kl = (p * log_p).sum(1)[:, None] - p @ log_p.T
        one_way = torch.where(same, kl, torch.relu(2.0 - kl))
        losses = one_way + one_way.T
    (losses.triu(1).sum() / (B * (B - 1) / 2)).backward()
    assert exact.grad is not None
    return exact.grad


@BOTH
@pytest.mark.parametrize("scale", [1.0, DEFAULT_SCALE])
def test_the_gradient_is_the_exact_one_rounded_once(criterion, scale: float) -> None:  # type: ignore[no-untyped-def]
    logits, labels = situation()
    expected = (scale * exact_gradient(criterion.__name__, logits, labels)).half()
    leaf = logits.clone().requires_grad_()
    (scale * criterion(leaf, labels)).backward()
    assert leaf.grad is not None
    assert leaf.grad.dtype == torch.float16
    torch.testing.assert_close(leaf.grad, expected, rtol=2e-3, atol=1e-7)
    lost = (leaf.grad == 0).double().mean()
    assert float(lost) == pytest.approx(float((expected == 0).double().mean()), abs=0.01)
    if scale > 1:
        assert float(lost) < 0.01


@BOTH
def test_each_loss_is_scaled_before_it_is_cast(criterion) -> None:  # type: ignore[no-untyped-def]
    logits, labels = situation()
    expected = (DEFAULT_SCALE * exact_gradient(criterion.__name__, logits, labels)).half()
    leaf = logits.clone().requires_grad_()
    each = criterion(leaf, labels, reduction="none")
    (DEFAULT_SCALE * each.sum() / (B * (B - 1) / 2)).backward()
    torch.testing.assert_close(leaf.grad, expected, rtol=2e-3, atol=1e-7)


@pytest.mark.parametrize("criterion", [mcl, kcl, cross_entropy])
def test_a_step_under_float16_autocast_and_the_default_loss_scale(criterion) -> None:  # type: ignore[no-untyped-def]
    """The scaler finds no overflow, and the step is that of float32."""
    logits, labels = situation()
    steps = []
    for enabled in (True, False):
        torch.manual_seed(0)
        network = torch.nn.Linear(OUTPUTS, OUTPUTS)
        before = network.weight.detach().clone()
        optimizer = torch.optim.SGD(network.parameters(), lr=1.0)
        scaler = torch.amp.GradScaler("cpu", enabled=enabled)
        with torch.autocast("cpu", torch.float16, enabled=enabled):
            loss = criterion(network(logits.float()), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert not enabled or scaler.get_scale() == DEFAULT_SCALE
        steps.append(network.weight.detach() - before)
    half, single = steps
    assert float(single.abs().max()) > 0.005
    torch.testing.assert_close(half, single, rtol=0.02, atol=0.01 * float(single.abs().max()))
