"""MCL and KCL against the paper's equations, pair by pair, in float64 and in log space."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from likewise import KCL, MCL, kcl, mcl


def mcl_of_pair(log_p: Tensor, log_q: Tensor, s: float) -> Tensor:
    """Equation 6: log s_hat sums over equal outputs, log (1 - s_hat) over every two unequal ones."""
    joint = log_p[:, None] + log_q[None, :]  # (K, K)
    equal = torch.eye(len(log_p), dtype=torch.bool)
    terms = [(s, joint[equal]), (1 - s, joint[~equal])]
    return torch.stack([-share * torch.logsumexp(logs, 0) for share, logs in terms if share > 0]).sum()


def kcl_of_pair(log_p: Tensor, log_q: Tensor, s: float, margin: float = 2.0) -> Tensor:
    """Equations 7 to 9 of appendix B."""
    forward, backward = (log_p.exp() * (log_p - log_q)).sum(), (log_q.exp() * (log_q - log_p)).sum()
    hinge = torch.relu(margin - forward) + torch.relu(margin - backward)
    return s * (forward + backward) + (1 - s) * hinge


REFERENCE = {"mcl": mcl_of_pair, "kcl": kcl_of_pair}
CRITERION = {"mcl": MCL(), "kcl": KCL()}


def reference(name: str, logits: Tensor, same: Tensor) -> tuple[float, Tensor]:
    """The mean over pairs i < j whose target is known, and its gradient."""
    exact = logits.detach().double().requires_grad_()
    log_p = torch.log_softmax(exact, 1)
    losses = []
    for i in range(len(exact)):
        for j in range(i + 1, len(exact)):
            if not math.isnan(same[i, j].item()):
                losses.append(REFERENCE[name](log_p[i], log_p[j], same[i, j].item()))
    loss = torch.stack(losses).mean()
    loss.backward()
    assert exact.grad is not None
    return loss.item(), exact.grad


def ours(name: str, logits: Tensor, target: Tensor) -> tuple[float, Tensor]:
    leaf = logits.detach().clone().requires_grad_()
    loss = CRITERION[name](leaf, target)
    loss.backward()
    assert leaf.grad is not None
    return loss.item(), leaf.grad


def situation(kind: str, scale: float, b: int = 20, outputs: int = 5) -> tuple[Tensor, Tensor]:
    """Logits and labels: outputs at random, right and sure, or sure that everything is one class."""
    torch.manual_seed(3)
    labels = torch.randint(0, 4, (b,))
    noise = torch.randn(b, outputs)
    if kind == "random":
        return scale * noise, labels
    said = labels if kind == "right" else torch.zeros_like(labels)
    return scale * (torch.nn.functional.one_hot(said, outputs) + 0.1 * noise), labels


@pytest.mark.parametrize("scale", [1, 10, 100, 1000])
@pytest.mark.parametrize("kind", ["random", "right", "wrong"])
@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_equals_the_equation_at_any_confidence(name: str, kind: str, scale: float) -> None:
    logits, labels = situation(kind, scale)
    same = (labels[:, None] == labels[None, :]).double()
    expected_loss, expected = reference(name, logits, same)
    for target in (labels, same.float()):
        loss, gradient = ours(name, logits, target)
        assert math.isfinite(loss)
        assert bool(gradient.isfinite().all())
        assert loss == pytest.approx(expected_loss, rel=1e-4, abs=1e-13)
        assert (gradient - expected).abs().max() <= 1e-4 * expected.abs().max() + 1e-13


@pytest.mark.parametrize("scale", [1, 10, 100, 1000])
@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_soft_and_unknown_targets(name: str, scale: float) -> None:
    logits, _ = situation("random", scale)
    same = torch.rand(20, 20)
    same = ((same + same.T) / 2).float()
    same[same > 0.8] = torch.nan
    expected_loss, expected = reference(name, logits, same.double())
    loss, gradient = ours(name, logits, same)
    assert loss == pytest.approx(expected_loss, rel=1e-4)
    assert (gradient - expected).abs().max() <= 1e-4 * expected.abs().max()


@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_bfloat16_logits_lose_nothing_more(name: str) -> None:
    logits, labels = situation("random", 10)
    rounded = logits.bfloat16()
    loss, gradient = ours(name, rounded.float(), labels)
    low_loss, low_gradient = ours(name, rounded, labels)
    assert low_loss == pytest.approx(loss, rel=1e-6)
    assert low_gradient.dtype == torch.bfloat16
    assert torch.allclose(low_gradient.float(), gradient, rtol=1e-2, atol=1e-8)  # 8 bits of mantissa


@pytest.mark.parametrize("function", [mcl, kcl])
def test_float64_gradient_by_finite_differences(function) -> None:  # type: ignore[no-untyped-def]
    logits, labels = situation("random", 1, b=7)
    leaf = logits.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda z: function(z, labels), (leaf,))
    pairs = torch.tensor([[0, 1], [2, 5], [6, 3]])
    same = torch.tensor([1.0, 0.0, 0.3], dtype=torch.float64)
    assert torch.autograd.gradcheck(lambda z: function(z, same, pairs=pairs), (leaf,))


@pytest.mark.parametrize("scale", [30.0, 300.0, 3000.0, 1e5])
@pytest.mark.parametrize("s", [0.0, 1.0])
def test_a_violated_pair_is_always_pulled(s: float, scale: float) -> None:
    """A clamp would make exactly these gradients zero."""
    far_apart = torch.tensor([[scale, 0.0, 0.0], [0.0, scale, 0.0]])
    alike = torch.tensor([[scale, 0.0, 0.0], [scale, 0.0, 0.0]])
    logits = (far_apart if s else alike).requires_grad_()
    mcl(logits, torch.tensor([s]), pairs=torch.tensor([[0, 1]])).backward()
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert bool((logits.grad.abs().amax(1) > 0.4).all())  # half of the pair's unit of pull, for each item
    assert torch.allclose(logits.grad.sum(1), torch.zeros(2), atol=1e-6)


@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_tiles_join_without_seam(name: str) -> None:
    """More items than one tile holds, against the whole matrix at once in float64."""
    torch.manual_seed(0)
    b, outputs = 1400, 3
    logits, labels = 3 * torch.randn(b, outputs), torch.randint(0, 3, (b,))
    exact = logits.double().requires_grad_()
    log_p = torch.log_softmax(exact, 1)
    p = log_p.exp()
    same = (labels[:, None] == labels[None, :]).double()
    if name == "mcl":
        losses = -(same * (p @ p.T).log() + (1 - same) * (1 - p @ p.T).log())
    else:
        kl = (p * log_p).sum(1)[:, None] - p @ log_p.T
        one_way = same * kl + (1 - same) * torch.relu(2.0 - kl)
        losses = one_way + one_way.T
    expected = losses.triu(1).sum() / (b * (b - 1) / 2)
    expected.backward()
    assert exact.grad is not None
    loss, gradient = ours(name, logits, labels)
    assert loss == pytest.approx(expected.item(), rel=1e-5)
    assert (gradient - exact.grad).abs().max() <= 1e-4 * exact.grad.abs().max()


@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_order_of_items_and_outputs_does_not_matter(name: str) -> None:
    logits, labels = situation("random", 10)
    items, outputs = torch.randperm(20), torch.randperm(5)
    loss, gradient = ours(name, logits, labels)
    turned_loss, turned = ours(name, logits[items][:, outputs], labels[items])
    assert turned_loss == pytest.approx(loss, rel=1e-5)
    assert torch.allclose(turned, gradient[items][:, outputs], rtol=1e-3, atol=1e-6)


def test_constant_target_is_the_reference_codes_gradient() -> None:
    logits, labels = situation("random", 2)
    exact = logits.double().requires_grad_()
    log_p = torch.log_softmax(exact, 1)
    total = torch.zeros((), dtype=torch.float64)
    for i in range(20):
        for j in range(20):
            fixed = log_p[i].detach()
            kl = (fixed.exp() * (fixed - log_p[j])).sum()
            if i != j:
                total = total + (kl if labels[i] == labels[j] else torch.relu(2.0 - kl))
    (total / 190).backward()
    leaf = logits.clone().requires_grad_()
    loss = KCL(constant_target=True)(leaf, labels)
    loss.backward()
    assert loss.item() == pytest.approx(total.item() / 190, rel=1e-5)
    assert exact.grad is not None
    assert leaf.grad is not None
    assert torch.allclose(leaf.grad.double(), exact.grad, atol=1e-6)


INF = torch.inf


@pytest.mark.parametrize("name", ["mcl", "kcl"])
@pytest.mark.parametrize("form", ["labels", "matrix", "listed"])
def test_an_output_that_is_closed_to_all_is_as_if_it_were_not_there(name: str, form: str) -> None:
    """Logits of -inf, as in masked softmax."""
    logits, labels = situation("random", 3)
    masked = torch.cat([logits[:, :2], torch.full((20, 1), -INF), logits[:, 2:]], 1)
    pairs = torch.combinations(torch.arange(20))
    same = (labels[:, None] == labels).float()
    results = []
    for z in (logits, masked):
        leaf = z.clone().requires_grad_()
        if form == "listed":
            loss = CRITERION[name](leaf, same[pairs[:, 0], pairs[:, 1]], pairs=pairs)
        else:
            loss = CRITERION[name](leaf, labels if form == "labels" else same)
        loss.backward()
        assert leaf.grad is not None
        results.append((loss.detach(), leaf.grad))
    (loss, gradient), (masked_loss, masked_gradient) = results
    torch.testing.assert_close(masked_loss, loss)
    assert masked_gradient[:, 2].count_nonzero() == 0
    torch.testing.assert_close(masked_gradient[:, [0, 1, 3, 4, 5]], gradient, rtol=1e-4, atol=1e-7)


# Logits, and what the pair costs by MCL and by KCL if it is the same, and if it is different
CLOSED = {
    "nothing in common": ([[1.0, -INF, -INF], [-INF, 2.0, 2.0]], (INF, 0.0), (INF, 0.0)),
    "one output in common": ([[0.0, 0.0, -INF], [-INF, 0.0, 0.0]], (math.log(4), math.log(4 / 3)), (INF, 0.0)),
    "both sure of one": ([[1.0, -INF, -INF], [2.0, -INF, -INF]], (0.0, INF), (0.0, 4.0)),
    "one has more": ([[0.0, 0.0, 0.0], [0.0, 0.0, -INF]], (math.log(3), math.log(1.5)), (INF, 2 - math.log(1.5))),
}


@pytest.mark.parametrize("case", CLOSED)
@pytest.mark.parametrize("name", ["mcl", "kcl"])
@pytest.mark.parametrize("form", ["labels", "matrix", "listed", "one by one"])
def test_what_pairs_with_closed_outputs_cost(case: str, name: str, form: str) -> None:
    """An answer that is ruled out costs inf and pulls at nothing; the gradient of all else stays finite."""
    values, by_mcl, by_kcl = CLOSED[case]
    for same, expected in zip((1.0, 0.0), by_mcl if name == "mcl" else by_kcl, strict=True):
        logits = torch.tensor(values, requires_grad=True)
        pair = torch.tensor([[0, 1]])
        if form == "labels":
            loss = CRITERION[name](logits, torch.tensor([0, 0 if same else 1]))
        elif form == "matrix":
            loss = CRITERION[name](logits, torch.tensor([[torch.nan, same], [torch.nan, torch.nan]]))
        elif form == "listed":
            loss = CRITERION[name](logits, torch.tensor([same, torch.nan]), pairs=pair[[0, 0]])
        else:
            loss = {"mcl": mcl, "kcl": kcl}[name](logits, torch.tensor([same]), pairs=pair, reduction="none")[0]
        assert loss.item() == pytest.approx(expected, rel=1e-5, abs=1e-20)
        loss.backward()
        assert logits.grad is not None
        assert bool(logits.grad.isfinite().all())
        assert expected < INF or name == "kcl" or logits.grad.count_nonzero() == 0


@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_pairs_that_do_not_count_may_be_ruled_out(name: str) -> None:
    """Unknown pairs, and an item with itself, have weight 0, and 0 times inf must not become NaN."""
    logits = torch.tensor([[1.0, -INF], [-INF, 2.0], [1.0, -INF], [0.5, 1.0]], requires_grad=True)
    nan = torch.nan
    same = torch.tensor([[0, nan, nan, 0], [nan, 0, nan, 0], [nan, nan, 0, nan], [nan, nan, nan, 0]])
    loss = CRITERION[name](logits, same)
    only = CRITERION[name](logits, torch.zeros(2), pairs=torch.tensor([[0, 3], [1, 3]]))
    torch.testing.assert_close(loss, only)
    loss.backward()
    assert logits.grad is not None
    assert bool(logits.grad.isfinite().all())
    assert logits.grad[2].count_nonzero() == 0
    assert logits.grad[3].count_nonzero() == 2


def test_soft_answers_with_closed_outputs() -> None:
    logits = torch.tensor([[1.0, -INF], [-INF, 2.0]])
    assert kcl(logits, torch.tensor([0.25]), pairs=torch.tensor([[0, 1]])).item() == INF
    assert mcl(logits, torch.tensor([0.25]), pairs=torch.tensor([[0, 1]])).item() == INF


@pytest.mark.parametrize("form", ["labels", "listed"])
def test_many_pairs_in_log_space_are_computed_a_part_at_a_time(form: str) -> None:
    """With 2^18 outputs, four pairs a part; all outputs but three are closed, and count for nothing."""
    few = torch.tensor([[200.0, 0, 0], [0, 190.0, 0], [0, 0, 210.0], [180.0, 0, 10.0], [0, 170.0, 0]])
    many = torch.full((5, 1 << 18), -INF)
    many[:, :3] = few
    pairs, labels = torch.combinations(torch.arange(5)), torch.zeros(5, dtype=torch.int64)
    results = []
    for logits in (few, many):
        leaf = logits.clone().requires_grad_()
        loss = mcl(leaf, torch.ones(10), pairs=pairs) if form == "listed" else mcl(leaf, labels)
        loss.backward()
        assert leaf.grad is not None
        results.append((loss.detach(), leaf.grad[:, :3]))
    assert results[0][0].item() > 30
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.parametrize("kind", ["right", "wrong", "random"])
@pytest.mark.parametrize("name", ["mcl", "kcl"])
def test_float64_is_exact_in_log_space_too(name: str, kind: str) -> None:
    logits, labels = situation(kind, 3000)
    logits = logits.double()
    same = (labels[:, None] == labels[None, :]).double()
    expected_loss, expected = reference(name, logits, same)
    pairs = torch.combinations(torch.arange(20))
    criterion = {"mcl": mcl, "kcl": kcl}[name]
    for target, told in ((labels, {}), (same, {}), (same[pairs[:, 0], pairs[:, 1]], {"pairs": pairs})):
        loss, gradient = ours(name, logits, target) if not told else (None, None)
        if gradient is not None:
            assert loss == pytest.approx(expected_loss, rel=1e-12, abs=1e-13)
            assert (gradient - expected).abs().max() <= 1e-12 * expected.abs().max() + 1e-13
        each = criterion(logits, target, reduction="none", **told)
        assert each.dtype == torch.float64
        assert each.sum().item() / 190 == pytest.approx(expected_loss, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("kind", ["random", "wrong"])
def test_log_space_is_in_float64(kind: str) -> None:
    """Sums of logarithms in the thousands, whose differences of less than 1 make the gradient."""
    logits, labels = situation(kind, 3000)
    same = (labels[:, None] == labels[None, :]).double()
    expected_loss, expected = reference("mcl", logits, same)
    loss, gradient = ours("mcl", logits, labels)
    assert loss == pytest.approx(expected_loss, rel=1e-6)
    torch.testing.assert_close(gradient.double(), expected, rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("self_pairs", [False, True])
@pytest.mark.parametrize("criterion", [mcl, kcl])
def test_each_loss_of_many_tiles(criterion, self_pairs: bool) -> None:  # type: ignore[no-untyped-def]
    """Against the whole matrix in float64; an item with itself counts one half."""
    b, draw = 300, torch.Generator().manual_seed(4)
    logits, labels = torch.randn(b, 3, generator=draw), torch.randint(3, (b,), generator=draw)
    log_p = logits.double().log_softmax(1)
    p, same = log_p.exp(), labels[:, None] == labels
    if criterion is mcl:
        losses = -torch.where(same, p @ p.T, 1 - p @ p.T).log()
    else:
        kl = (p * log_p).sum(1)[:, None] - p @ log_p.T
        one_way = torch.where(same, kl, torch.relu(2.0 - kl))
        losses = one_way + one_way.T
    expected = losses.triu(1) + (losses.diag() / 2).diag() * self_pairs
    found = criterion(logits, labels, reduction="none", self_pairs=self_pairs)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-6)
    total = criterion(logits, labels, reduction="sum", self_pairs=self_pairs)
    torch.testing.assert_close(total.double(), expected.sum(), rtol=1e-5, atol=0)
