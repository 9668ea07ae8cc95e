"""One driver for every pairwise criterion: tiles of pairs in, the loss and its gradient out, in memory O(bK).

A criterion is a `Kernel`. It looks at the logits once, then is shown tiles of pairs; for each it gives the losses and
adds to running sums of size (b, K), from which the gradient follows at the end. Value and gradient are thus computed
together, in the forward pass; the backward pass only scales, in the kernel's precision, and casts last: in float16 most
of the gradient would be zero before a loss scale could save it.

The host never waits for the device in the middle of the tiles: what has to be known is asked before or after them.

While a batch is shared out over ranks (see `likewise.distributed`), each rank has all logits and is shown its part of
the pairs, and the sums are added up: two numbers and (b, K) of them, never anything of size (b, b).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from likewise.criteria.targets import Grid, Listing, PairTable, Tile, read_call, scatter
from likewise.distributed import all_reduce, current_share

Reduction = Literal["mean", "sum", "none"]


class Kernel(Protocol):
    """The mathematics of one criterion on one batch; with `learn` off, the sums for the gradient are skipped."""

    dtype: torch.dtype
    postponed: list[Tensor]  # how many pairs of each part shown so far counted as 0 and are to be shown `in_log_space`

    def tile(self, tile: Tile) -> Tensor:
        """Weighted losses of a tile, (rows, columns), before its share."""

    def listed(self, pairs: Listing) -> Tensor:
        """Weighted losses of listed pairs, (P,)."""

    def in_log_space(self, part: Tile | Listing, count: int) -> Tensor:
        """Weighted losses of the postponed pairs of a part, of which there are `count`, and zeros elsewhere."""

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
    taking_part, target, rows = read_call(logits, same, pairs, weight, self_pairs)
    if reduction == "none":
        losses: Tensor = _EachLoss.apply(taking_part, make, target)  # type: ignore[no-untyped-call]
        return losses if rows is None else scatter(losses, rows, len(logits))
    learn = torch.is_grad_enabled() and taking_part.requires_grad
    settings = (make, target, reduction == "mean", learn)
    if torch._C._are_functorch_transforms_active():
        value: Tensor = _TransformedLoss.apply(taking_part, *settings)[0]  # type: ignore[no-untyped-call]
    else:
        value = _TotalLoss.apply(taking_part, *settings)  # type: ignore[no-untyped-call]
    return value


def _losses(kernel: Kernel, part: Tile | Listing) -> Tensor:
    return kernel.tile(part) if isinstance(part, Tile) else kernel.listed(part)


def _postponed(kernel: Kernel, parts: Iterator[Tile | Listing]) -> Iterator[tuple[Tile | Listing, Tensor]]:
    """The same parts once more, of which those with postponed pairs are given, with the losses of these."""
    if not kernel.postponed:
        return
    counts = torch.stack(kernel.postponed).tolist()  # the host waits once for all parts
    if any(counts):
        for part, count in zip(parts, counts, strict=True):
            if count:
                yield part, kernel.in_log_space(part, count)


def _inverse(count: float | Tensor) -> float | Tensor:
    """1 / count, and 0 where nothing counts."""
    if isinstance(count, Tensor):
        return torch.where(count > 0, 1 / count, 0.0)
    return 1 / count if count > 0 else 0.0


def _full_precision(device: str) -> AbstractContextManager[object]:
    """Autocast off, since probabilities near 0 and 1 do not survive in 16 bits."""
    return torch.autocast(device, enabled=False) if torch.is_autocast_enabled(device) else nullcontext()


def _total_loss(
    logits: Tensor, make: MakeKernel, target: Grid | Listing, mean: bool, learn: bool
) -> tuple[Tensor, Tensor]:
    """The sum or mean of the losses of all pairs and, to learn from, its gradient, (b, K) in the kernel's type."""
    with _full_precision(logits.device.type):
        kernel = make(logits, learn)
        batch = current_share()
        who = (batch.rank, batch.size) if batch.is_part else (0, 1)
        wide = kernel.dtype if logits.device.type == "mps" else torch.float64
        total = torch.zeros((), dtype=wide, device=logits.device)  # one place: small tensors kept would break up memory
        count: float | Tensor = 0.0  # a number of pairs, or on the device, the sum of their weights
        for part in target.parts(logits.shape[1], kernel.dtype, *who):
            total.add_(_losses(kernel, part).sum(), alpha=part.share)
            count = count + part.count()
        for part, losses in _postponed(kernel, target.parts(logits.shape[1], kernel.dtype, *who)):
            total.add_(losses.sum(), alpha=part.share)
        if batch.is_part:
            total, count = all_reduce(torch.stack([total, torch.as_tensor(count).to(total)]))
        scale = _inverse(count) if mean else 1.0
        value = (total * scale).to(kernel.dtype)
        if not learn:
            return value, torch.empty(0, device=logits.device)
        gradient = all_reduce(kernel.gradient()) if batch.is_part else kernel.gradient()
        return value, gradient.mul_(scale)


def _scaled(ctx: Any, upstream: Tensor) -> Tensor:
    """The gradient of the total loss times what comes from upstream, cast last."""
    logits, gradient = ctx.saved_tensors
    return (_once(logits, gradient) * upstream.to(gradient.dtype)).to(logits.dtype)


def _no_forward_mode(ctx: Any, *tangents: Any) -> Any:
    raise RuntimeError(BACKWARD_ONLY)


class _TotalLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, *settings: Any) -> Tensor:
        value, gradient = _total_loss(logits, *settings)
        ctx.save_for_backward(logits, gradient)
        return value

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        return _scaled(ctx, upstream), None, None, None, None

    jvp = staticmethod(_no_forward_mode)


class _TransformedLoss(torch.autograd.Function):
    """The same for `torch.func`, which wants the gradient as an output: for a small batch that takes a fifth longer."""

    forward = staticmethod(_total_loss)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[1])

    @staticmethod
    def backward(ctx: Any, upstream: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        return None if upstream is None else _scaled(ctx, upstream), None, None, None, None

    jvp = staticmethod(_no_forward_mode)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], logits: Tensor, *settings: Any) -> tuple[Any, tuple[int, int]]:
        each = (_TransformedLoss.apply(one, *settings) for one in logits.unbind(in_dims[0]))  # type: ignore[no-untyped-call]
        values, gradients = zip(*each, strict=True)
        return (torch.stack(values), torch.stack(gradients)), (0, 0)


class _EachLoss(torch.autograd.Function):
    """The loss of each pair: (P,), or (b, b) with the losses above the diagonal and zeros below."""

    @staticmethod
    def forward(logits: Tensor, make: MakeKernel, target: Grid | Listing) -> Tensor:
        with _full_precision(logits.device.type):
            kernel = make(logits, False)
            shape = (len(target.left),) if isinstance(target, Listing) else (len(logits), len(logits))
            each = torch.zeros(shape, dtype=kernel.dtype, device=logits.device)
            for part in target.parts(logits.shape[1], kernel.dtype):
                _add_to(each, part, _losses(kernel, part))
            for part, losses in _postponed(kernel, target.parts(logits.shape[1], kernel.dtype)):
                _add_to(each, part, losses)
            return each

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, MakeKernel, Grid | Listing], output: Tensor) -> None:
        logits, ctx.make, ctx.target = inputs
        ctx.save_for_backward(logits)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None]:
        return _EachGradient.apply(*ctx.saved_tensors, upstream, ctx.make, ctx.target), None, None  # type: ignore[no-untyped-call]

    jvp = staticmethod(_no_forward_mode)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], logits: Tensor, *settings: Any) -> tuple[Tensor, int]:
        return torch.stack([_EachLoss.apply(one, *settings) for one in logits.unbind(in_dims[0])]), 0  # type: ignore[no-untyped-call]


def _add_to(each: Tensor, part: Tile | Listing, losses: Tensor) -> None:
    if isinstance(part, Listing):
        each[part.start : part.start + len(losses)] += losses
    else:  # a square tile has each pair twice, and a self-pair counts one half
        losses = losses.triu(1) + losses.triu().tril() / 2 if part.square else losses
        each[part.rows, part.columns] += losses


class _EachGradient(torch.autograd.Function):
    """The gradient of the losses of each pair, weighted with what comes from upstream."""

    @staticmethod
    def forward(logits: Tensor, upstream: Tensor, make: MakeKernel, target: Grid | Listing) -> Tensor:
        with _full_precision(logits.device.type):
            kernel = make(logits, True)
            weighted = target.times(upstream.to(kernel.dtype))
            for part in weighted.parts(logits.shape[1], kernel.dtype):
                _losses(kernel, part)
            for _ in _postponed(kernel, weighted.parts(logits.shape[1], kernel.dtype)):
                pass
            return kernel.gradient().to(logits.dtype)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None, None, None]:
        raise RuntimeError(ONCE)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], logits: Tensor, upstream: Tensor, *settings: Any
    ) -> tuple[Tensor, int]:
        many = [
            [each] * info.batch_size if place is None else each.unbind(place)
            for each, place in zip((logits, upstream), in_dims[:2], strict=True)
        ]
        return torch.stack([_EachGradient.apply(*two, *settings) for two in zip(*many, strict=True)]), 0  # type: ignore[no-untyped-call]


BACKWARD_ONLY = "MCL and KCL have no forward-mode derivative; use backward() or torch.func.grad."
ONCE = "MCL and KCL have no second derivative here; write the loss with torch's own operations if you need one."


def _once(logits: Tensor, gradient: Tensor) -> Tensor:
    """The gradient as it is; where it may be differentiated again, that raises instead of silently giving zero."""
    if not torch.is_grad_enabled():
        return gradient
    guarded: Tensor = _FirstDerivative.apply(logits, gradient)  # type: ignore[no-untyped-call]
    return guarded


class _FirstDerivative(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(logits: Tensor, gradient: Tensor) -> Tensor:
        return gradient.view_as(gradient)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[None, None]:
        raise RuntimeError(ONCE)
