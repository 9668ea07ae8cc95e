"""The criteria under `torch.func`: grad, vmap and jacrev are those of backward(), and what there is not is refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, grad_and_value, hessian, jacrev, jvp, stack_module_state, vmap

from likewise import KCL, MCL, kcl, mcl

DRAW = torch.Generator().manual_seed(0)
LOGITS = torch.randn(3, 6, 4, generator=DRAW)
LABELS = torch.tensor([0, 1, 0, 2, -1, 1])
WEIGHT = torch.rand(6, 6, generator=DRAW)
PAIRS = torch.tensor([[0, 1], [2, 5], [4, 3]])
CALLS = {
    "labels": lambda criterion, z, how: criterion(z, LABELS, reduction=how),
    "matrix": lambda criterion, z, how: criterion(z, WEIGHT, weight=WEIGHT, reduction=how),
    "listed": lambda criterion, z, how: criterion(z, WEIGHT[0, :3], pairs=PAIRS, reduction=how),
}
pytestmark = pytest.mark.parametrize("criterion", [mcl, kcl])


def by_backward(loss, logits: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
    leaf = logits.clone().requires_grad_()
    loss(leaf).backward()
    assert leaf.grad is not None
    return leaf.grad


@pytest.mark.parametrize("form", CALLS)
@pytest.mark.parametrize("how", ["mean", "sum", "none"])
def test_gradients_are_those_of_backward(criterion, form: str, how: str) -> None:  # type: ignore[no-untyped-def]
    def loss(z: Tensor) -> Tensor:
        return (CALLS[form](criterion, z, how) ** 2).sum()  # type: ignore[no-any-return]

    expected = torch.stack([by_backward(loss, one) for one in LOGITS])
    assert float(expected.abs().max()) > 0.01
    gradient, value = grad_and_value(loss)(LOGITS[0])
    torch.testing.assert_close(gradient, expected[0])
    torch.testing.assert_close(value, loss(LOGITS[0]))
    torch.testing.assert_close(vmap(grad(loss))(LOGITS), expected)
    torch.testing.assert_close(vmap(grad(loss), in_dims=1)(LOGITS.transpose(0, 1)), expected)
    torch.testing.assert_close(vmap(loss)(LOGITS), torch.stack([loss(one) for one in LOGITS]))


def test_the_jacobian_of_each_loss(criterion) -> None:  # type: ignore[no-untyped-def]
    def each(z: Tensor) -> Tensor:
        return criterion(z, WEIGHT[0, :3], pairs=PAIRS, reduction="none")  # type: ignore[no-any-return]

    jacobian = jacrev(each)(LOGITS[0])
    rows = [by_backward(lambda z, place=place: each(z)[place], LOGITS[0]) for place in range(3)]
    torch.testing.assert_close(jacobian, torch.stack(rows))


def test_an_ensemble_learns_at_once(criterion) -> None:  # type: ignore[no-untyped-def]
    """vmap over the weights of several networks, as in torch's tutorial on ensembling."""
    module = {mcl: MCL, kcl: KCL}[criterion]()
    networks = [nn.Linear(4, 3) for _ in range(3)]
    weights, buffers = stack_module_state(networks)  # type: ignore[arg-type]

    def loss(weight: dict[str, Tensor], buffer: dict[str, Tensor]) -> Tensor:
        return module(functional_call(networks[0], (weight, buffer), (LOGITS[0],)), LABELS)  # type: ignore[no-any-return]

    found = vmap(grad(loss))(weights, buffers)
    for place, network in enumerate(networks):
        module(network(LOGITS[0]), LABELS).backward()
        torch.testing.assert_close(found["weight"][place], network.weight.grad)


@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")  # jvp itself calls it
@pytest.mark.parametrize("how", ["mean", "none"])
def test_what_there_is_not_is_refused_in_a_sentence(criterion, how: str) -> None:  # type: ignore[no-untyped-def]
    def loss(z: Tensor) -> Tensor:
        return criterion(z, LABELS, reduction=how).square().sum()  # type: ignore[no-any-return]

    with pytest.raises(RuntimeError, match="no second derivative here"):
        grad(lambda z: grad(loss)(z).square().sum())(LOGITS[0])
    with pytest.raises(RuntimeError, match="no forward-mode derivative; use backward"):
        jvp(loss, (LOGITS[0],), (LOGITS[1],))
    with pytest.raises(RuntimeError, match="no forward-mode derivative"):
        hessian(loss)(LOGITS[0])
    for mapped in ({"same": LABELS.expand(3, 6)}, {"same": WEIGHT.expand(3, 6, 6)}):
        with pytest.raises(ValueError, match="vmap may map over the logits alone"):
            vmap(lambda z, same: criterion(z, same, reduction=how))(LOGITS, mapped["same"])
    with pytest.raises(ValueError, match="vmap may map over the logits alone"):
        vmap(lambda z, weight: criterion(z, LABELS, weight=weight))(LOGITS, WEIGHT.expand(3, 6, 6))
    with pytest.raises(ValueError, match="vmap may map over the logits alone"):
        vmap(lambda z, pairs: criterion(z, WEIGHT[0, :3], pairs=pairs))(LOGITS, PAIRS.expand(3, 3, 2))
