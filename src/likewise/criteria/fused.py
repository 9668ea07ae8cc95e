"""One driver for every pairwise criterion: tiles of pairs in, the loss and its gradient out, in memory O(bK).

A criterion is a `Kernel`. It looks at the logits once, then is shown tiles of pairs; for each it gives the losses and
adds to running sums of size (b, K), from which the gradient follows at the end. Value and gradient are thus computed
together, in the forward pass; the backward pass only scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from likewise.criteria.targets import Grid, Listing, read_target, tiles

Reduction = Literal["mean", "sum", "none"]


class Kernel(Protocol):
    """The mathematics of one criterion on one batch; with `learn` off, the sums for the gradient are skipped."""

    dtype: torch.dtype

    def tile(self, rows: slice, columns: slice, same: Tensor, weight: Tensor | None) -> Tensor:
        """Weighted losses of a tile, (rows, columns)."""

    def listed(self, left: Tensor, right: Tensor, same: Tensor, weight: Tensor) -> Tensor:
        """Weighted losses of listed pairs, (P,)."""

    def gradient(self) -> Tensor:
        """The gradient of the sum of all losses shown so far, with respect to the logits, (b, K)."""


MakeKernel = Callable[[Tensor, bool], Kernel]  # (logits, learn) -> kernel
LISTED = 1 << 22  # floats gathered at a time from listed pairs: 16 MiB


def criterion(
    make: MakeKernel,
    logits: Tensor,
    same: Tensor,
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
        if len(taking_part) == len(logits):
            return losses
        known = same.to(logits.device) >= 0
        whole = losses.new_zeros(len(logits), len(logits))
        return whole.masked_scatter(known[:, None] & known[None, :], losses)
    value: Tensor = _TotalLoss.apply(taking_part, make, target, reduction == "mean")  # type: ignore[no-untyped-call]
    return value


def _walk(
    kernel: Kernel, logits: Tensor, target: Grid | Listing, factor: Tensor | None = None
) -> Iterator[tuple[Tensor, Tensor | None]]:
    """Show a kernel every pair, and give the losses and weights of each part; `factor` multiplies the weights."""
    b, outputs = logits.shape
    if isinstance(target, Listing):
        size = max(1, LISTED // outputs)
        for start in range(0, len(target.left), size):
            part = slice(start, start + size)
            same, weight = target.same[part].to(kernel.dtype), target.weight[part].to(kernel.dtype)
            weight = weight if factor is None else weight * factor[part]
            yield kernel.listed(target.left[part], target.right[part], same, weight), weight
        return
    for rows, columns in tiles(b):
        same, tile_weight = target.tile(rows, columns, kernel.dtype)
        if factor is not None:  # the factor stands on and above the diagonal; a square tile shows each pair twice
            tile_factor = factor[rows, columns]
            tile_factor = tile_factor.triu() + tile_factor.triu(1).T if rows == columns else tile_factor
            tile_weight = tile_factor if tile_weight is None else tile_weight * tile_factor
        yield kernel.tile(rows, columns, same, tile_weight), tile_weight


def _full_precision(device: str) -> AbstractContextManager[object]:
    """Autocast off, since probabilities near 0 and 1 do not survive in 16 bits."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


class _TotalLoss(torch.autograd.Function):
    """The sum or mean of the losses of all pairs, with its gradient computed in the same pass."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, make: MakeKernel, target: Grid | Listing, mean: bool) -> Tensor:
        learn = ctx.needs_input_grad[0]
        with _full_precision(logits.device.type):
            kernel = make(logits.detach(), learn)
            total = count = 0.0
            for losses, weight in _walk(kernel, logits, target):
                total += float(losses.sum())
                if mean:
                    count += losses.numel() if weight is None else float(weight.sum())
            scale = (1.0 / count if count > 0 else 0.0) if mean else 1.0
            if learn:
                ctx.save_for_backward(logits, kernel.gradient().mul_(scale).to(logits.dtype))
            return torch.tensor(total * scale, dtype=kernel.dtype, device=logits.device)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        logits, gradient = ctx.saved_tensors
        gradient = _FirstDerivative.apply(logits, gradient)  # type: ignore[no-untyped-call]
        return gradient * upstream.to(gradient.dtype), None, None, None


class _EachLoss(torch.autograd.Function):
    """The loss of each pair: (P,), or (b, b) with the losses above the diagonal and zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, make: MakeKernel, target: Grid | Listing) -> Tensor:
        b = len(logits)
        ctx.save_for_backward(logits)
        ctx.make, ctx.target = make, target
        with _full_precision(logits.device.type):
            kernel = make(logits.detach(), False)
            losses = [part for part, _ in _walk(kernel, logits, target)]
            if isinstance(target, Listing):
                return torch.cat(losses) if losses else torch.zeros(0, dtype=kernel.dtype, device=logits.device)
            matrix = torch.zeros(b, b, dtype=kernel.dtype, device=logits.device)
            for (rows, columns), tile in zip(tiles(b), losses, strict=True):
                matrix[rows, columns] = tile.triu() + tile.triu(1) if rows == columns else tile
            return matrix

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        (logits,) = ctx.saved_tensors
        with _full_precision(logits.device.type), torch.no_grad():
            kernel = ctx.make(logits.detach(), True)
            for _ in _walk(kernel, logits, ctx.target, upstream.to(kernel.dtype)):
                pass
            gradient = kernel.gradient().to(logits.dtype)
        gradient = _FirstDerivative.apply(logits, gradient)  # type: ignore[no-untyped-call]
        return gradient, None, None


class _FirstDerivative(torch.autograd.Function):
    """The gradient as it is; whoever differentiates it again is told, and not given a zero."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, gradient: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None]:
        raise RuntimeError(
            "MCL and KCL have no second derivative here; write the loss with torch's own operations if you need one."
        )
