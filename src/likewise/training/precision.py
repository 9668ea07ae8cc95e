"""Where a network is trained, and in which precision: bfloat16 only where a quick measurement shows that it pays."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from likewise.distributed import agreed, sharing
from likewise.errors import InputError
from likewise.training.batches import Batch, Batches
from likewise.training.optimizers import build_optimizer
from likewise.training.settings import Settings

Objective = Callable[[nn.Module, Batch], tuple[Tensor, Tensor]]  # -> (loss, a scalar; logits (b, K))

WORTH_IT = 1.2  # bfloat16 rounds to three digits, so it must be this many times faster to be taken
SHORT = 0.02  # seconds; where a step takes less, chance would decide, and the same seed give other weights


def resolve_device(name: str) -> torch.device:
    """The device that `Settings.device` names; "auto" takes CUDA, then Apple's MPS, then the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InputError(f"There is no device called {name!r}; use device cpu or auto.") from error
    missing_cuda = device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count()
    if missing_cuda or (device.type == "mps" and not torch.backends.mps.is_available()):
        raise InputError(f"Device {name} is not available here; use device cpu or auto.")
    return device


def resolve_precision(
    settings: Settings, network: nn.Module, batches: Batches, objective: Objective, device: torch.device
) -> tuple[Literal["float32", "bfloat16"], str]:
    """The precision to train in, and why.

    "auto" measures a few steps of a copy of the network in both, only where the hardware multiplies bfloat16 itself.
    """
    if settings.precision != "auto":
        return settings.precision, "as set"
    if not native_bfloat16(device):
        return "float32", f"this {device.type} has no native bfloat16"
    batch = move(next(iter(batches.epoch(0))), device)
    with sharing(len(batch.labels)):
        ratio = _speed_up(settings, network, batch, objective, device)
    ratio = agreed(ratio)
    if ratio is None:
        return "float32", f"a step takes less than {SHORT:g} s"
    return ("bfloat16" if ratio >= WORTH_IT else "float32"), f"bfloat16 measured {ratio:.2f} times as fast as float32"


def native_bfloat16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    tests = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")  # torch has no public name for them
    return device.type == "cpu" and any(getattr(torch.cpu, test, lambda: False)() for test in tests)


def forward(objective: Objective, network: nn.Module, batch: Batch, precision: str) -> tuple[Tensor, Tensor]:
    """The objective's (loss, logits), with the network under autocast where `precision` is bfloat16."""
    kind = batch.inputs.device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        return objective(network, batch)


def move(batch: Batch, device: torch.device) -> Batch:
    """The batch on the device; nothing is copied where it is there already."""
    return Batch(*(part.to(device) for part in batch))


def _speed_up(
    settings: Settings, network: nn.Module, batch: Batch, objective: Objective, device: torch.device, rounds: int = 4
) -> float | None:
    """How many times faster a training step is in bfloat16: the best of a few, in turns, after one to warm up.

    Time of the processor is counted, where that is what computes: other programs must not decide. None: too short.
    """
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    twin = copy.deepcopy(network)
    optimizer = build_optimizer(twin, settings, device)
    best = {"float32": float("inf"), "bfloat16": float("inf")}
    for turn in range(rounds):
        for precision in best:
            start = clock()
            optimizer.zero_grad()
            loss, _ = forward(objective, twin, batch, precision)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            loss.item()  # waits for the device
            if turn:
                best[precision] = min(best[precision], clock() - start)
    return None if best["float32"] < SHORT else best["float32"] / best["bfloat16"]
