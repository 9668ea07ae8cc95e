"""The checkpoint: weights, optimizer and the place in the run, in one safetensors file, whole or not there at all.

The one before it is kept as checkpoint.previous.safetensors: a run resumes from there, to the same bits, where the last
one is damaged. A CRC-32 of all that a file says, names, shapes and numbers, is in it and is checked before it is used.

Names: "network.<name>", "best.<name>" (the weights of the best epoch, where one is looked for), "optimizer.<position of
the parameter>.<name>", "tally.loss_sum", "tally.items", "tally.confusion". Everything else is JSON in the metadata. No
generator's state is needed: see randomness.py.
"""

from __future__ import annotations

import errno
import json
import math
import time
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from likewise.errors import InputError
from likewise.evaluation import accuracy, match_outputs
from likewise.storage.atomic_files import write_atomically
from likewise.storage.records import as_json, first_difference
from likewise.storage.run_folder import network_tensors, stored
from likewise.training.optimizers import OF_SETTINGS, optimizer_numbers, optimizer_tensors, restore_optimizer
from likewise.training.settings import with_defaults


# What the training pass of an epoch sums: the loss, the items, and which outputs met which classes.
@dataclass
class Tally:
    """Running sums of one epoch, all on the CPU; class labels are only counted here, never trained on.

    >>> tally = Tally(n_classes=2)
    >>> tally.add(0.5, torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]), torch.tensor([1, 0]))
    >>> tally.loss, tally.accuracy()
    (0.5, 1.0)
    """

    n_classes: int
    loss_sum: float = 0.0
    items: int = 0
    confusion: Tensor = field(default_factory=lambda: torch.zeros(0, 0, dtype=torch.int64))  # (K, n_classes)

    def add(self, loss: float, logits: Tensor, labels: Tensor) -> None:
        self.loss_sum += loss * len(labels)
        self.items += len(labels)
        if not len(self.confusion):
            self.confusion = torch.zeros(logits.shape[1], self.n_classes, dtype=torch.int64)
        if self.n_classes:
            known = labels >= 0
            outputs, labels = logits.detach().argmax(1).cpu()[known], labels[known]
            if len(labels) and int(labels.max()) >= self.n_classes:
                raise InputError(f"Label {int(labels.max())} is outside the {self.n_classes} classes (0 is the first).")
            cells = torch.bincount(outputs * self.n_classes + labels, minlength=self.confusion.numel())
            self.confusion += cells.view_as(self.confusion)

    @property
    def loss(self) -> float:
        return self.loss_sum / self.items if self.items else math.nan

    def accuracy(self) -> float:
        """The share of known items whose output's matched class is theirs; NaN where no class is known."""
        counts: np.ndarray = self.confusion.numpy()
        return float(accuracy(counts, match_outputs(counts))) if counts.sum() else math.nan


VERSION = 2  # the first had a checksum of the tensors alone, and is still read


class DamagedCheckpoint(Exception):
    """The checkpoint is missing or not as it was written; the message says how that was noticed."""


@dataclass
class State:
    """Where a run stands: `step` counts the steps done in the current epoch, and `tally` sums over them."""

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
    """Write the checkpoint; `about` is what a later run must have in common with this one to resume from it."""
    tensors = {f"network.{name}": value for name, value in network_tensors(network).items()}
    tensors |= {f"best.{name}": value for name, value in state.best.items()}
    tensors |= {f"optimizer.{name}": stored(value) for name, value in optimizer_tensors(optimizer).items()}
    tensors["tally.loss_sum"] = torch.tensor(state.tally.loss_sum, dtype=torch.float64)
    tensors["tally.items"] = torch.tensor(state.tally.items)
    tensors["tally.confusion"] = stored(state.tally.confusion)
    place = {name: getattr(state, name) for name in ("epoch", "step", "items", "history", "seconds", "cpu_seconds")}
    place["optimizer"] = optimizer_numbers(optimizer)
    facts = json.dumps({"version": VERSION, "about": as_json(about), **place})
    content = save(tensors, {"likewise": facts, "checksum": str(_checksum(tensors, facts))})
    write_atomically(path, content, keep=previous(path))


def previous(path: Path) -> Path:
    """Where the checkpoint before this one is kept.

    >>> previous(Path("run/checkpoint.safetensors")).name
    'checkpoint.previous.safetensors'
    """
    return path.with_suffix(f".previous{path.suffix}")


def restore_previous(path: Path) -> bool:
    """Whether there is a checkpoint to resume from. If it is damaged or gone, the previous one takes its place."""
    damages = []
    for file in (path, previous(path)):
        if not file.exists():  # the last one is gone for a moment while it is replaced, in which a kill may come
            continue
        try:
            _read(file)
        except DamagedCheckpoint as damage:
            damages.append(f"{file} is damaged ({damage})")
            continue
        if damages:
            warnings.warn(f"{damages[0]}; the run resumes from the checkpoint before it.", stacklevel=2)
        if file != path:
            file.replace(path)
        return True
    if damages:
        what = "it" if len(damages) == 1 else "both"
        raise InputError(f"{' and '.join(damages)}; delete {what} to begin the run again.")
    return False


def load_checkpoint(
    path: Path, network: nn.Module, optimizer: Optimizer, about: Mapping[str, object], n_classes: int
) -> State:
    """Check the file, restore network and optimizer from it, and return the state."""
    try:
        facts, tensors = _read(path)
    except DamagedCheckpoint as damage:
        raise InputError(f"{path} is damaged ({damage}); delete it to begin the run again.") from damage
    if facts["version"] not in (1, VERSION):
        raise InputError(f"{path} has format version {facts['version']}, not {VERSION}; use another run folder.")
    recorded = facts["about"]
    if isinstance(recorded, Mapping) and isinstance(recorded.get("settings"), Mapping):  # maybe of an earlier version
        recorded = {"optimizer": OF_SETTINGS, **recorded, "settings": with_defaults(recorded["settings"])}
    difference = first_difference(recorded, as_json(about))
    if difference:
        name, old, new = difference
        raise InputError(f"{path} was written with {name} = {old!r}, now it is {new!r}; use another run folder.")
    weights = _part(tensors, "network.")
    _check_shapes(path, weights, network)
    network.load_state_dict(weights)  # copies into the tensors of the network, which keep their memory layout
    restore_optimizer(optimizer, _part(tensors, "optimizer."), facts.get("optimizer"))
    confusion = tensors["tally.confusion"].clone()  # the others live in the file's memory map
    tally = Tally(n_classes, float(tensors["tally.loss_sum"]), int(tensors["tally.items"]), confusion)
    place = {name: facts[name] for name in ("epoch", "step", "items", "history", "seconds", "cpu_seconds")}
    return State(tally, **place, best={name: value.clone() for name, value in _part(tensors, "best.").items()})


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    try:
        with safe_open(path, "pt") as file:
            about = file.metadata() or {}
            facts = json.loads(about["likewise"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        if "checksum" in about:
            sound = about["checksum"] == str(_checksum(tensors, about["likewise"]))
        else:
            sound = facts["checksum"] == _checksum(tensors)
    except OSError as error:  # safetensors does not say of which file
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error
    except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedCheckpoint(f"it cannot be read: {error}") from error
    if not sound:
        raise DamagedCheckpoint("its checksum does not fit")
    return facts, tensors


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


def _checksum(tensors: Mapping[str, Tensor], facts: str | None = None) -> int:
    """A CRC-32; without facts, as the first version had it, of the numbers alone."""
    total = 0 if facts is None else zlib.crc32(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        if facts is not None:
            total = zlib.crc32(f"{name} {tensor.dtype} {list(tensor.shape)}".encode(), total)
        total = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, total)
    return total
