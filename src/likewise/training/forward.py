"""The forward pass of a step: on which device, in which precision, and over which ranks.

Where there are several ranks, the network's outputs are gathered, and torch averages the gradients. What
DistributedDataParallel wraps is the objective, so that a step is one forward for it however often the objective calls
the network, and the objective sees the network itself. Alone, all of this does nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from likewise.distributed import all_reduce, batch_norm_across_ranks, gather_batch, world
from likewise.errors import InputError
from likewise.training.batches import Batch

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]  # -> (loss, a scalar; logits (b, K))


def resolve_device(name: str) -> torch.device:
    """The device that `Settings.device` names; "auto" takes CUDA, then Apple's MPS, then the CPU.

    >>> resolve_device("cpu")
    device(type='cpu')
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = torch.device(name)
    missing_cuda = device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count()
    if missing_cuda or (device.type == "mps" and not torch.backends.mps.is_available()):
        raise InputError(f"Device {name} is not available here; use device cpu or auto.")
    return device


def forward(objective: Objective, network: nn.Module, batch: Batch, precision: str) -> tuple[Tensor, Tensor]:
    """The objective's (loss, logits), with the network under autocast where `precision` is bfloat16."""
    kind = batch.inputs.device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        return objective(network, batch)


def move(batch: Batch, device: torch.device) -> Batch:
    """The batch on the device; nothing is copied if it is there already."""
    return Batch(*(part.to(device) for part in batch))


@contextmanager
def gather_outputs(network: nn.Module) -> Iterator[None]:
    """Inside, what the network makes of this rank's rows comes out as the outputs of the whole batch.

    A network that says it `gathers` does so itself, as the similarity network, whose output is (b, b).
    """
    ours = world()
    if ours.size == 1:
        yield
        return
    with ExitStack() as stack:
        if not getattr(network, "gathers", False):
            stack.callback(network.register_forward_hook(_gathered).remove)
        if ours.sync_batch_norm:
            stack.enter_context(batch_norm_across_ranks(network))
        yield


def _gathered(network: nn.Module, inputs: Any, outputs: Tensor) -> Tensor:
    return gather_batch(outputs)


def in_parallel(network: nn.Module, objective: Objective) -> Objective:
    """The same objective, whose gradients are averaged over ranks; all begin with the weights of the first."""
    if world().size == 1:
        return objective
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # newer versions of torch have a new name for broadcast_buffers
        step = DistributedDataParallel(
            _Step(network, objective),
            broadcast_buffers=False,  # `synchronise` averages them
            find_unused_parameters=True,  # a similarity network has a last layer that it does not use
        )

    def averaged(_: nn.Module, batch: Batch) -> tuple[Tensor, Tensor]:
        loss, logits = step(batch)
        return loss, logits

    return averaged


class _Step(nn.Module):
    def __init__(self, network: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.network, self.objective = network, objective

    def forward(self, batch: Batch) -> tuple[Tensor, Tensor]:
        return self.objective(self.network, batch)


@torch.no_grad()
def synchronise(network: nn.Module, stop: bool) -> bool:
    """After a step: give all ranks the mean of what batch-norm has seen, and say whether any of them is to stop."""
    size = world().size
    if size == 1:
        return stop
    buffers = [buffer for buffer in network.buffers() if buffer.is_floating_point()]
    flag = torch.tensor([float(stop)], dtype=torch.float64)  # in which the mean of equal numbers is that number
    sums = all_reduce(torch.cat([flag, *(buffer.detach().flatten().double().cpu() for buffer in buffers)]))
    start = 1
    for buffer in buffers:
        buffer.copy_(sums[start : start + buffer.numel()].div_(size).view_as(buffer))
        start += buffer.numel()
    return bool(sums[0] > 0)
