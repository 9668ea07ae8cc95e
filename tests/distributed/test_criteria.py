"""MCL and KCL over ranks are those of one process with the whole batch, and what is sent grows with b x K alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from likewise.criteria import KCL, MCL
from likewise.distributed import gather_batch, share, sharing, traffic, world
from likewise.networks import build

CRITERIA: dict[str, Callable[[], nn.Module]] = {
    "mcl": MCL,
    "kcl": KCL,
    "kcl-constant": lambda: KCL(constant_target=True),
    "mcl-self-pairs": lambda: MCL(self_pairs=True),
    "mcl-sum": lambda: MCL(reduction="sum"),
}
FORMS = ("labels", "unknown-labels", "weighted-labels", "matrix", "listed")


def problem(b: int) -> tuple[Tensor, nn.Module]:
    inputs = 2 * torch.randn(b, 6, generator=torch.Generator().manual_seed(b))
    return inputs, build("mlp", 4, (6,), seed=1)


def target(form: str, b: int) -> dict[str, Tensor]:
    draw = torch.Generator().manual_seed(7)
    labels = torch.randint(3, (b,), generator=draw)
    if form == "labels":
        return {"same": labels}
    if form == "unknown-labels":
        return {"same": torch.where(torch.rand(b, generator=draw) < 0.3, -1, labels)}
    if form == "weighted-labels":
        return {"same": labels, "weight": torch.rand(b, b, generator=draw)}
    if form == "matrix":
        same = torch.rand(b, b, generator=draw)
        return {"same": same.masked_fill(torch.rand(b, b, generator=draw) < 0.4, torch.nan)}
    pairs = torch.randint(b, (3 * b + 1, 2), generator=draw)
    p = len(pairs)
    return {"pairs": pairs, "same": torch.rand(p, generator=draw), "weight": torch.rand(p, generator=draw)}


def loss_and_gradients(name: str, form: str, b: int, confident: float) -> tuple[float, list[Tensor]]:
    """The loss, and the gradients as DistributedDataParallel averages them."""
    inputs, network = problem(b)
    for module in network.modules():  # its statistics would be those of a rank's rows; test_batch_norm.py has them
        if isinstance(module, nn.BatchNorm1d):
            module.eval()
    with sharing(b) as own:
        logits = gather_batch(network(inputs[own.rows])) * confident
        assert len(logits) == b
        told = target(form, b)
        loss = CRITERIA[name]()(logits, told.pop("same"), **told)
        loss.backward()
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in network.parameters()]
    if world().size > 1:
        for gradient in gradients:
            torch.distributed.all_reduce(gradient)
            gradient /= world().size
    return loss.item(), gradients


def every_case(cases: list[tuple[str, str, int, float]]) -> list[Any]:
    return [loss_and_gradients(*case) for case in cases]


@pytest.mark.parametrize("size", [2, 3])
def test_loss_and_gradients_are_those_of_the_whole_batch(size: int, in_ranks: Callable[..., list[Any]]) -> None:
    """With uneven shares, one that is larger than a tile, and a batch too small to share out."""
    cases = [(name, form, 17, 1.0) for name in CRITERIA for form in FORMS]
    cases += [(name, "matrix", b, 1.0) for name in ("mcl", "kcl") for b in (3, 8)]
    cases += [("mcl", "labels", 700, 1.0), ("kcl", "listed", 700, 1.0)]
    cases += [("mcl", form, 23, 200.0) for form in FORMS]  # so sure that pairs are computed in log space
    alone = every_case(cases)
    for rank in in_ranks(size, every_case, cases):
        for case, (loss, gradients), (expected, expected_gradients) in zip(cases, rank, alone, strict=True):
            assert loss == pytest.approx(expected, rel=1e-5), case
            scale = max(float(gradient.abs().max()) for gradient in expected_gradients)
            assert scale > 0, case
            torch.testing.assert_close(gradients, expected_gradients, rtol=1e-5, atol=1e-5 * max(scale, 1))


def bytes_sent(sizes: list[tuple[int, int]]) -> list[float]:
    sent = []
    for b, outputs in sizes:
        draw = torch.Generator().manual_seed(0)
        rows = torch.randn(b, outputs, generator=draw)[share(b).rows].requires_grad_()
        labels = torch.randint(3, (b,), generator=draw)
        with traffic() as one_step, sharing(b):
            MCL()(gather_batch(rows), labels).backward()
        sent.append(one_step.bytes)
    return sent


@pytest.mark.parametrize("size", [2, 3])
def test_bytes_grow_with_b_and_with_k(size: int, in_ranks: Callable[..., list[Any]]) -> None:
    sizes = [(b, outputs) for b in (120, 240, 480) for outputs in (4, 8)]
    for sent in in_ranks(size, bytes_sent, sizes):
        for (b, outputs), found in zip(sizes, sent, strict=True):
            logits = 4 * b * outputs * (size - 1) / size  # the own rows to each other rank
            gradient = 2 * logits
            few = 8 * (size - 1) + 2 * 16 * (size - 1) / size  # the lengths; the loss and the number of pairs
            assert found == pytest.approx(logits + gradient + few)


def test_alone_nothing_is_sent() -> None:
    assert set(bytes_sent([(12, 4)])) == {0.0}


def test_each_loss_is_left_to_every_rank(in_ranks: Callable[..., list[Any]]) -> None:
    alone = each_loss()
    for rank in in_ranks(2, each_loss):
        torch.testing.assert_close(rank, alone)


def each_loss() -> Tensor:
    logits = torch.randn(9, 4, generator=torch.Generator().manual_seed(0))
    with sharing(9):
        losses: Tensor = MCL(reduction="none")(logits, torch.arange(9) % 3)
    return losses
