"""Each regulariser against its equation, written out pair by pair in float64."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.supervision.semi import METHODS, Aids, BatchSeen, find_method
from likewise.supervision.semi.regularisers import pi_model, pseudo_label, pseudo_mcl, pseudo_mcl_plus, spn_mcl

LABELLED, B, K = 2, 6, 3


def seen(views: int, sharpness: float = 3.0) -> BatchSeen:
    """Logits that are the inputs themselves, some sure and some not, after two labelled rows."""
    random = torch.Generator().manual_seed(4)
    logits = sharpness * torch.randn(LABELLED + views * B, K, generator=random)
    return BatchSeen(nn.Identity(), logits, logits.clone().requires_grad_(), LABELLED)


def probabilities(logits: Tensor) -> list[list[float]]:
    return logits.detach().double().softmax(1).tolist()


def s_hat(p: list[float], q: list[float]) -> float:
    return math.fsum(a * b for a, b in zip(p, q, strict=True))


def pair_loss(same: float, similarity: float) -> float:
    return -same * math.log(similarity) - (1 - same) * math.log(1 - similarity)


def test_pseudo_label() -> None:
    given = seen(1)
    loss = pseudo_label(given)
    p = probabilities(given.item_logits)
    assert loss.item() == pytest.approx(sum(-math.log(max(row)) for row in p) / B, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    for row, slope in zip(p, gradient[LABELLED:].tolist(), strict=True):  # (p - onehot) / b: the label is constant
        expected = [(q - (q == max(row))) / B for q in row]
        assert slope == pytest.approx(expected, abs=1e-6)
    assert not gradient[:LABELLED].any()


def test_pi_model() -> None:
    given = seen(2)
    p = probabilities(given.item_logits)
    expected = sum((p[i][k] - p[i + B][k]) ** 2 for i in range(B) for k in range(K)) / (B * K)
    loss = pi_model(given)
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    assert all(gradient[LABELLED + i].abs().max() > 0 for i in range(2 * B))  # through both views


def test_pseudo_mcl() -> None:
    given = seen(2)
    p = probabilities(given.item_logits)
    losses, kinds = [], set()
    for i in range(2 * B):
        for j in range(i + 1, 2 * B):
            similarity = s_hat(p[i], p[j])
            same = float(similarity > 0.5 or j - i == B)
            kinds.add((similarity > 0.5, j - i == B))
            losses.append(pair_loss(same, similarity))
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}  # every case is there
    assert pseudo_mcl(given).item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)


def test_pseudo_mcl_plus() -> None:
    given = seen(2, sharpness=6.0)
    p = probabilities(given.item_logits)
    weak, strong = p[:B], p[B:]
    losses, unsure = [], 0
    for i in range(B):
        for j in range(B):
            judged = s_hat(weak[i], weak[j])
            known = judged > 0.95 or judged < 0.05
            unsure += not known
            if i < j and known:
                losses.append(pair_loss(float(judged > 0.5), s_hat(strong[i], strong[j])))
            if known or i == j:
                same = 1.0 if i == j else float(judged > 0.5)
                losses.append(pair_loss(same, s_hat(strong[i], weak[j])))
    assert 0 < unsure < B * B
    loss = pseudo_mcl_plus(given)
    assert loss.item() == pytest.approx(sum(losses) / len(losses), rel=1e-5)
    (gradient,) = torch.autograd.grad(loss, given.logits)
    assert not gradient[: LABELLED + B].any()  # the weak views teach, and do not learn
    assert gradient[LABELLED + B :].abs().max(1).values.min() > 0


def test_spn_mcl() -> None:
    given = seen(1)
    said = torch.rand(B, B, generator=torch.Generator().manual_seed(0))
    said = (said + said.T) / 2
    asked: list[Tensor] = []

    def similarity(items: Tensor) -> Tensor:
        asked.append(items)
        return said

    p = probabilities(given.item_logits)
    pairs = [(i, j) for i in range(B) for j in range(i + 1, B)]
    expected = sum(pair_loss(float(said[i, j] > 0.5), s_hat(p[i], p[j])) for i, j in pairs) / len(pairs)
    assert spn_mcl(similarity)(given).item() == pytest.approx(expected, rel=1e-5)
    assert torch.equal(asked[0], given.items)


@pytest.mark.parametrize("name", [name for name, method in METHODS.items() if method.regulariser])
def test_a_gradient_reaches_the_network_from_bfloat16_too(name: str) -> None:
    method = METHODS[name]
    torch.manual_seed(0)
    network = nn.Linear(K, K)
    inputs = torch.randn(LABELLED + method.views * B, K)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = network(inputs)
        assert logits.dtype == torch.bfloat16
        assert method.regulariser is not None
        regulariser = method.regulariser(Aids(1.0, lambda items: (items @ items.T).sigmoid()))
        loss = regulariser(BatchSeen(network, inputs, logits, LABELLED))
    loss.backward()
    assert loss.dtype == torch.float32
    assert network.weight.grad is not None
    assert float(network.weight.grad.abs().sum()) > 0


def test_the_methods_of_the_paper_and_ours() -> None:
    assert list(METHODS) == ["supervised", "pseudo-label", "pi-model", "vat", "spn-mcl", "pseudo-mcl", "pseudo-mcl+"]
    beyond: Callable[[str], tuple[bool, ...]] = lambda name: (  # noqa: E731
        METHODS[name].strong,
        METHODS[name].averaged,
        METHODS[name].balanced,
    )
    assert {name for name in METHODS if any(beyond(name))} == {"pseudo-mcl+"}
    with pytest.raises(InputError, match=r"no method 'mixmatch'; choose one of supervised, .*, pseudo-mcl\+\."):
        find_method("mixmatch")
