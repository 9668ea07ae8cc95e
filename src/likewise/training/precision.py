"""Where a network is trained, and in which precision: float32, unless bfloat16 was asked for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

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
