"""Batch-norm over the whole batch, of which each rank has some rows; torch's own SyncBatchNorm is for GPUs alone.

    mean = sum over ranks of sum_i x_i / n,    var = sum over ranks of sum_i (x_i - mean)^2 / n

The two sums of C numbers are all that is sent, and once more for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import MethodType

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from likewise.distributed.collectives import all_reduce, reduce_batch
from likewise.distributed.world import current_share


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
