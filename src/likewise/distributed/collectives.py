"""What ranks exchange: rows are gathered, sums are reduced, and decisions of the first rank are broadcast; batch-norm.

Every rank has the loss of the whole batch, so that there are `size` equal copies of it. Gradients here are those of the
sum of the copies, as torch's own collectives have it; DistributedDataParallel divides them by `size` again.

    gather  forward: the rows of all ranks, in order      backward: this rank's rows of the gradient, times size
    reduce  forward: the sum over ranks                   backward: the sum over ranks of the gradients

Batch-norm is over the whole batch, of which each rank has some rows; torch's own SyncBatchNorm is for GPUs alone.

    mean = sum over ranks of sum_i x_i / n,    var = sum over ranks of sum_i (x_i - mean)^2 / n

The two sums of C numbers are all that is sent, and once more for the gradient.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import MethodType
from typing import Any, TypeVar
from zlib import crc32

import torch
from torch import Tensor, distributed, nn
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.distributed.world import current_share, world
from likewise.errors import InputError


# What a process sends to the others, counted by payload; the collectives of this room add to it.
@dataclass
class Traffic:
    """Bytes that this rank sends in a ring, and how often it had to wait for the others.

    An all-reduce of n bytes among s ranks sends 2 n (s - 1) / s from each; a gathering of n bytes of each, n (s - 1).
    """

    bytes: float = 0.0
    calls: int = 0

    def reduced(self, payload: int, size: int) -> None:
        self.bytes += 2 * payload * (size - 1) / size
        self.calls += 1

    def gathered(self, payload: int, size: int) -> None:
        self.bytes += payload * (size - 1)
        self.calls += 1


_all = Traffic()


@contextmanager
def traffic() -> Iterator[Traffic]:
    """What was sent inside, known after the end.

    >>> with traffic() as sent:
    ...     pass
    >>> sent
    Traffic(bytes=0.0, calls=0)
    """
    before = Traffic(_all.bytes, _all.calls)
    sent = Traffic()
    try:
        yield sent
    finally:
        sent.bytes, sent.calls = _all.bytes - before.bytes, _all.calls - before.calls


def count() -> Traffic:
    """The running count of this process."""
    return _all


T = TypeVar("T")


def gather_batch(rows: Tensor) -> Tensor:
    """Gather the rows of all ranks, (b, ...), with gradient; the input unchanged where no batch is shared out.

    >>> gather_batch(torch.eye(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return all_gather(rows) if current_share().is_part else rows


def all_gather(rows: Tensor) -> Tensor:
    """The rows of all ranks, one after another, with gradient, whether or not a batch is shared out."""
    if world().size == 1:
        return rows
    lengths = [int(n) for n in _gather(torch.tensor([len(rows)], device=rows.device))]
    gathered: Tensor = _Gathered.apply(rows, lengths)  # type: ignore[no-untyped-call]
    return gathered


def is_common(content: bytes) -> bool:
    """Whether all ranks have the same content, by its checksum; every rank gets the same result.

    >>> is_common(b"index")
    True
    """
    return world().size == 1 or len({int(other) for other in _gather(torch.tensor([crc32(content)]))}) == 1


def is_close(numbers: Tensor) -> bool:
    """Whether all ranks have the same numbers (n,), to 0.01 % of the largest; every rank gets the same result."""
    if world().size == 1:
        return True
    gathered = torch.stack(_gather(numbers.double().cpu()))  # (size, n)
    return bool((gathered.amax(0) - gathered.amin(0)).max() <= 1e-4 * gathered.abs().max())


def reduce_batch(sums: Tensor) -> Tensor:
    """The sum over ranks, with gradient, while a batch is shared out."""
    if not current_share().is_part:
        return sums
    total: Tensor = _Reduced.apply(sums)  # type: ignore[no-untyped-call]
    return total


def all_reduce(numbers: Tensor) -> Tensor:
    """Sum over all ranks in place, without gradient; a single process changes nothing."""
    size = world().size
    if size > 1:
        distributed.all_reduce(numbers)
        count().reduced(_bytes(numbers), size)
    return numbers


def from_first(decide: Callable[[], T]) -> T:
    """Broadcast what the first rank decides, as JSON, or the InputError it raises; the others only wait for it.

    >>> from_first(lambda: {"loss": 0.5})
    {'loss': 0.5}
    """
    ours = world()
    if ours.size == 1:
        return decide()
    message: dict[str, Any] = {}
    if ours.rank == 0:
        try:
            message = {"value": decide()}
        except InputError as error:
            message = {"error": str(error)}
    text = torch.frombuffer(bytearray(json.dumps(message).encode()), dtype=torch.uint8)
    length = torch.tensor([len(text)])
    distributed.broadcast(length, 0)
    text = text if ours.rank == 0 else torch.empty(int(length), dtype=torch.uint8)
    distributed.broadcast(text, 0)
    message = json.loads(bytes(text.tolist()))
    if "error" in message:
        raise InputError(message["error"])
    value: T = message["value"]
    return value


def agreed(value: T) -> T:
    """The first rank's value, where every rank has computed it and the last digits may differ between machines."""
    return from_first(lambda: value)


def barrier() -> None:
    """Wait until every rank is here, so that what the first wrote before can be read after."""
    all_reduce(torch.zeros(1))


class _Gathered(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, lengths: list[int]) -> Tensor:
        ours = world()
        start = sum(lengths[: ours.rank])
        ctx.own, ctx.size = slice(start, start + len(rows)), ours.size
        padded = rows.new_zeros(max(lengths), *rows.shape[1:])  # ranks must send alike, and a share may be a row less
        padded[: len(rows)] = rows
        return torch.cat([part[:n] for part, n in zip(_gather(padded), lengths, strict=True)])

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        return upstream[ctx.own] * ctx.size, None


class _Reduced(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Tensor) -> Tensor:
        return all_reduce(sums.clone())

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> Tensor:
        return all_reduce(upstream.clone())


def _gather(tensor: Tensor) -> list[Tensor]:
    size = world().size
    parts = [torch.empty_like(tensor) for _ in range(size)]
    distributed.all_gather(parts, tensor)
    count().gathered(_bytes(tensor), size)
    return parts


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


@contextmanager
def batch_norm_across_ranks(network: nn.Module) -> Iterator[None]:
    """Inside, every batch-norm of the network normalises shared batches as one process would; its kind stays."""
    norms = [module for module in network.modules() if isinstance(module, _BatchNorm)]
    try:
        for norm in norms:
            norm.forward = MethodType(_forward, norm)  # type: ignore[method-assign]
        yield
    finally:
        for norm in norms:
            del norm.forward


def _forward(norm: _BatchNorm, x: Tensor) -> Tensor:  # (b, C, ...)
    by_batch = norm.training or norm.running_mean is None
    if not (by_batch and current_share().is_part):
        return type(norm).forward(norm, x)
    values = x.to(torch.promote_types(x.dtype, torch.float32))
    over = [axis for axis in range(x.ndim) if axis != 1]
    shape = [1, -1] + [1] * (x.ndim - 2)
    n = float(all_reduce(torch.tensor([x.numel() / x.shape[1]], dtype=torch.float64)))
    mean = reduce_batch(values.sum(over)) / n  # (C,)
    centred = values - mean.view(shape)
    var = reduce_batch(centred.square().sum(over)) / n
    if norm.training and norm.track_running_stats:
        _follow(norm, mean.detach(), var.detach() * (n / max(n - 1, 1)))
    scale = torch.rsqrt(var + norm.eps)
    out = centred * (scale if norm.weight is None else scale * norm.weight).view(shape)
    return (out if norm.bias is None else out + norm.bias.view(shape)).to(x.dtype)


@torch.no_grad()
def _follow(norm: _BatchNorm, mean: Tensor, var: Tensor) -> None:
    """Move the running statistics as `nn.BatchNorm1d` does."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.num_batches_tracked is not None
    norm.num_batches_tracked += 1
    step = 1 / float(norm.num_batches_tracked) if norm.momentum is None else norm.momentum
    norm.running_mean.lerp_(mean.to(norm.running_mean.dtype), step)
    norm.running_var.lerp_(var.to(norm.running_var.dtype), step)
