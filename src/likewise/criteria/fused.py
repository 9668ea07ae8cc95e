"""One driver for every pairwise criterion: tiles of pairs in, the loss and its gradient out, in memory O(bK).

A criterion is a `Kernel`. It looks at the logits once, then is shown tiles of pairs; for each it gives the losses and
adds to running sums of size (b, K), from which the gradient follows at the end. Value and gradient are thus computed
together, in the forward pass; the backward pass only scales.

While a batch is shared out over ranks (see `likewise.distributed`), each rank has all logits and is shown its part of
the pairs, and the sums are added up: two numbers and (b, K) of them, never anything of size (b, b).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from likewise.criteria.tables import PairTable
from likewise.criteria.targets import Grid, Listing, Tile, read_target
from likewise.distributed import add_up, share_at_hand

Reduction = Literal["mean", "sum", "none"]


class Kernel(Protocol):
    """The mathematics of one criterion on one batch; with `learn` off, the sums for the gradient are skipped."""

    dtype: torch.dtype

    def tile(self, tile: Tile) -> Tensor:
        """Weighted losses of a tile, (rows, columns), before its share."""

    def listed(self, pairs: Listing) -> Tensor:
        """Weighted losses of listed pairs, (P,)."""

    def gradient(self) -> Tensor:
        """The gradient of the sum of all losses shown so far, with respect to the logits, (b, K)."""


MakeKernel = Callable[[Tensor, bool], Kernel]  # (logits, learn) -> kernel


def criterion(
    make: MakeKernel,
    logits: Tensor,
    same: Tensor | PairTable,
    pairs: Tensor | None,
    weight: Tensor | None,
    reduction: Reduction,
    self_pairs: bool,
) -> Tensor:
    """Apply a kernel to a call in any of the three forms."""
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")
    taking_part, target = read_target(logits, same, pairs, weight, self_pairs)
    if reduction == "none":
        losses: Tensor = _EachLoss.apply(taking_part, make, target)  # type: ignore[no-untyped-call]
        if len(taking_part) == len(logits) or not isinstance(same, Tensor):
            return losses
        known = same.to(logits.device) >= 0
        whole = losses.new_zeros(len(logits), len(logits))
        return whole.masked_scatter(known[:, None] & known[None, :], losses)
    value: Tensor = _TotalLoss.apply(taking_part, make, target, reduction == "mean")  # type: ignore[no-untyped-call]
    return value


def _losses(kernel: Kernel, part: Tile | Listing) -> Tensor:
    return kernel.tile(part) if isinstance(part, Tile) else kernel.listed(part)


def _full_precision(device: str) -> AbstractContextManager[object]:
    """Autocast off, since probabilities near 0 and 1 do not survive in 16 bits."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


class _TotalLoss(torch.autograd.Function):
    """The sum or mean of the losses of all pairs, with its gradient computed in the same pass."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, make: MakeKernel, target: Grid | Listing, mean: bool) -> Tensor:
        learn = ctx.needs_input_grad[0]
        with _full_precision(logits.device.type):
            kernel = make(logits, learn)
            total = count = 0.0
            batch = share_at_hand()
            who = (batch.rank, batch.size) if batch.is_part else (0, 1)
            for part in target.parts(logits.shape[1], kernel.dtype, *who):
                total += part.share * float(_losses(kernel, part).sum())
                count += part.count() if mean else 0.0
            if batch.is_part:
                total, count = add_up(torch.tensor([total, count], dtype=torch.float64)).tolist()
            scale = (1.0 / count if count > 0 else 0.0) if mean else 1.0
            if learn:
                gradient = add_up(kernel.gradient()) if batch.is_part else kernel.gradient()
                ctx.save_for_backward(logits, gradient.mul_(scale).to(logits.dtype))
            return torch.scalar_tensor(total * scale, dtype=kernel.dtype, device=logits.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        logits, gradient = ctx.saved_tensors
        return _once(logits, gradient) * upstream.to(gradient.dtype), None, None, None


class _EachLoss(torch.autograd.Function):
    """The loss of each pair: (P,), or (b, b) with the losses above the diagonal and zeros below."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, make: MakeKernel, target: Grid | Listing) -> Tensor:
        ctx.save_for_backward(logits)
        ctx.make, ctx.target = make, target
        with _full_precision(logits.device.type):
            kernel = make(logits, False)
            shape = (len(target.left),) if isinstance(target, Listing) else (len(logits), len(logits))
            each = torch.zeros(shape, dtype=kernel.dtype, device=logits.device)
            start = 0
            for part in target.parts(logits.shape[1], kernel.dtype):
                losses = _losses(kernel, part)
                if isinstance(part, Listing):
                    each[start : start + len(losses)] = losses
                    start += len(losses)
                else:  # a square tile has each pair twice, and a self-pair counts one half
                    losses = losses.triu(1) + losses.triu().tril() / 2 if part.square else losses
                    each[part.rows, part.columns] = losses
            return each

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        (logits,) = ctx.saved_tensors
        with _full_precision(logits.device.type), torch.no_grad():
            kernel = ctx.make(logits, True)
            upstream = upstream.to(kernel.dtype)
            start = 0
            for part in ctx.target.parts(logits.shape[1], kernel.dtype):
                if isinstance(part, Listing):
                    factor = upstream[start : start + len(part.left)]
                    start += len(part.left)
                else:
                    factor = upstream[part.rows, part.columns]
                    factor = factor.triu() + factor.triu(1).T if part.square else factor
                weight = factor if part.weight is None else part.weight * factor
                _losses(kernel, replace(part, weight=weight))
            gradient = kernel.gradient().to(logits.dtype)
        return _once(logits, gradient), None, None


def _once(logits: Tensor, gradient: Tensor) -> Tensor:
    """The gradient as it is; where it may be differentiated again, whoever does so is told, and not given a zero."""
    if not torch.is_grad_enabled():
        return gradient
    guarded: Tensor = _FirstDerivative.apply(logits, gradient)  # type: ignore[no-untyped-call]
    return guarded


class _FirstDerivative(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, gradient: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None]:
        raise RuntimeError(
            "MCL and KCL have no second derivative here; write the loss with torch's own operations if you need one."
        )
