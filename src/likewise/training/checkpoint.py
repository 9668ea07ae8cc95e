"""The checkpoint: weights, optimizer and the place in the run, in one safetensors file, whole or not there at all.

Names: "network.<name>", "best.<name>" (the weights of the best epoch, where one is looked for), "optimizer.<position of
the parameter>.<name>", "tally.loss_sum", "tally.items", "tally.confusion". Everything else is JSON in the metadata. No
generator's state is needed: see randomness.py.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from likewise.errors import InputError
from likewise.files import write_whole
from likewise.training.optimizers import optimizer_tensors, restore_optimizer
from likewise.training.run_folder import first_difference, network_tensors, plain, stored
from likewise.training.tally import Tally

VERSION = 1


@dataclass
class State:
    """Where a run stands. `step` counts the steps done in the epoch at hand; `tally` is of this epoch."""

    tally: Tally
    epoch: int = 0
    step: int = 0
    items: int = 0  # seen in all epochs
    history: list[dict[str, float]] = field(default_factory=list)
    seconds: float = 0.0
    best: dict[str, Tensor] = field(default_factory=dict)  # the weights of the best epoch, where one is looked for
    cpu_seconds: float = 0.0  # of this process; other programs do not spoil it
    _read: tuple[float, float] = field(default_factory=lambda: (time.perf_counter(), time.process_time()))

    def read_clock(self) -> None:
        """Add the time since it was last read."""
        now = time.perf_counter(), time.process_time()
        self.seconds += now[0] - self._read[0]
        self.cpu_seconds += now[1] - self._read[1]
        self._read = now


def save_checkpoint(
    path: Path, state: State, network: nn.Module, optimizer: Optimizer, about: Mapping[str, object]
) -> None:
    """Write the checkpoint; `about` is what a later run must have in common with this one to go on from it."""
    tensors = {f"network.{name}": value for name, value in network_tensors(network).items()}
    tensors |= {f"best.{name}": value for name, value in state.best.items()}
    tensors |= {f"optimizer.{name}": stored(value) for name, value in optimizer_tensors(optimizer).items()}
    tensors["tally.loss_sum"] = torch.tensor(state.tally.loss_sum, dtype=torch.float64)
    tensors["tally.items"] = torch.tensor(state.tally.items)
    tensors["tally.confusion"] = stored(state.tally.confusion)
    place = {name: getattr(state, name) for name in ("epoch", "step", "items", "history", "seconds", "cpu_seconds")}
    facts = {"version": VERSION, "about": plain(about), "checksum": _checksum(tensors), **place}
    write_whole(path, save(tensors, {"likewise": json.dumps(facts)}))


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: Optimizer, about: Mapping[str, object], n_classes: int
) -> State:
    """Put network and optimizer where the checkpoint was written, and return the state; the file is checked first."""
    facts, tensors = _read(path)
    if facts.get("version") != VERSION:
        raise InputError(f"{path} has format version {facts.get('version')}, not {VERSION}; use another run folder.")
    difference = first_difference(facts["about"], plain(about))
    if difference:
        name, old, new = difference
        raise InputError(f"{path} was written with {name} = {old!r}, now it is {new!r}; use another run folder.")
    if facts["checksum"] != _checksum(tensors):
        raise InputError(f"{path} is damaged: its checksum does not fit; delete it to begin the run again.")
    weights = _part(tensors, "network.")
    _check_shapes(path, weights, network)
    network.load_state_dict(weights)  # copies into the tensors of the network, which keep their memory layout
    restore_optimizer(optimizer, _part(tensors, "optimizer."))
    confusion = tensors["tally.confusion"].clone()  # the others live in the file's memory map
    tally = Tally(n_classes, float(tensors["tally.loss_sum"]), int(tensors["tally.items"]), confusion)
    place = {name: facts[name] for name in ("epoch", "step", "items", "history", "seconds", "cpu_seconds")}
    return State(tally, **place, best={name: value.clone() for name, value in _part(tensors, "best.").items()})


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, "pt") as file:
            facts = json.loads((file.metadata() or {})["likewise"])
            return facts, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except (SafetensorError, KeyError, ValueError) as error:
        raise InputError(f"{path} is damaged or no checkpoint ({error}); delete it to begin the run again.") from error


def _check_shapes(path: Path, weights: Mapping[str, Tensor], network: nn.Module) -> None:
    old = {name: list(value.shape) for name, value in weights.items()}
    difference = first_difference(old, {name: list(value.shape) for name, value in network.state_dict().items()})
    if difference:
        name, was, now = difference
        raise InputError(
            f"{path} holds another network: {name} has shape {was} there and {now} here; use another run folder."
        )


def _part(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _checksum(tensors: Mapping[str, Tensor]) -> int:
    total = 0
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, total)
    return total
