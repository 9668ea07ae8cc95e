"""Batch-norm across ranks: outputs, gradients and running statistics are those of one process with the whole batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from likewise.distributed import batch_norm_across_ranks, gather_batch, sharing, world

B = 7


def network(kind: str) -> nn.Module:
    draw = torch.Generator().manual_seed(0)
    if kind == "images":
        made: nn.Module = nn.Sequential(
            nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 2)
        )
    else:
        options = {"momentum": None} if kind == "mean" else {"affine": False, "track_running_stats": False}
        made = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, **options), nn.Linear(3, 2))
    for parameter in made.parameters():
        nn.init.normal_(parameter, generator=draw)
    return made


def inputs(kind: str) -> Tensor:
    draw = torch.Generator().manual_seed(1)
    rows = torch.randn((B, 2, 6, 6) if kind == "images" else (B, 4), generator=draw)
    return rows + 3 * torch.arange(B).view(-1, *[1] * (rows.ndim - 1))  # rows of a rank are unlike those of another


def two_steps(kinds: list[str]) -> dict[str, Any]:
    found = {}
    for kind in kinds:
        made = network(kind)
        with batch_norm_across_ranks(made):
            for _ in range(2):
                made.zero_grad()
                with sharing(B) as own:
                    outputs = gather_batch(made(inputs(kind)[own.rows]))
                    (outputs.sin() * torch.arange(2 * B).view(B, 2)).mean().backward()
        gradients = [parameter.grad for parameter in made.parameters()]
        for gradient in gradients if world().size > 1 else ():
            torch.distributed.all_reduce(gradient)
            gradient /= world().size
        made.eval()
        found[kind] = outputs.detach(), gradients, list(made.buffers()), made(inputs(kind)).detach()
    return found


def test_one_process_is_torchs_own_batch_norm() -> None:
    for kind in ("images", "mean", "bare"):
        made, twin = network(kind), network(kind)
        with batch_norm_across_ranks(made):
            torch.testing.assert_close(made(inputs(kind)), twin(inputs(kind)), rtol=0, atol=0)
        assert "forward" not in vars(made[1])  # type: ignore[index]


def test_two_and_three_ranks_are_one(in_ranks: Callable[..., list[Any]]) -> None:
    kinds = ["images", "mean", "bare"]
    alone = two_steps(kinds)
    for size in (2, 3):
        for rank in in_ranks(size, two_steps, kinds):
            for kind in kinds:
                torch.testing.assert_close(rank[kind], alone[kind], rtol=1e-4, atol=1e-4)
