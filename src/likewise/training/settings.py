"""The settings of a training run, and config.json, which keeps them and is compared when the run resumes."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import nn

from likewise import __version__
from likewise.distributed import from_first, world
from likewise.errors import InputError
from likewise.storage.records import as_json, check_record, first_difference, read_json, write_json
from likewise.training.forward import resolve_device

Optimizer = Literal["adam", "adamw", "sgd"]
Schedule = Literal["step", "one-cycle"]
Precision = Literal["auto", "float32", "bfloat16"]


@dataclass(frozen=True)
class Settings:
    """The paper's defaults: Adam at 0.001, batches of 100; the rate falls tenfold at each epoch in `drops`.

    >>> Settings(epochs=30, drops=[15, 25]).drops
    (15, 25)
    >>> Settings(learning_rate=-1)
    Traceback (most recent call last):
    likewise.errors.InputError: learning_rate must be a finite number above 0, got -1.
    """

    epochs: int = 30
    batch_size: int = 100
    optimizer: Optimizer = "adam"
    learning_rate: float = 1e-3
    momentum: float = 0.9  # SGD only
    weight_decay: float = 0.0
    clip_norm: float = 0.0  # a gradient that is longer than this, over all parameters, is cut to it; 0: never
    schedule: Schedule = "step"
    patience: int = 0  # epochs without a better monitored figure before the run ends; 0: never before the last
    drops: tuple[int, ...] = ()  # epochs (counted from 0) before which the rate is divided by ten; "step" only
    precision: Precision = "auto"  # "auto" is float32; bfloat16 is faster where the hardware has it
    device: str = "auto"  # "auto" takes CUDA, then Apple's MPS, then the CPU
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "drops", tuple(self.drops))  # recipes and JSON give lists
        for name, value in vars(self).items():
            if isinstance(value, np.generic):  # from np.arange, say, in a search for the best value
                object.__setattr__(self, name, value.item())
        for name, choices in (("optimizer", Optimizer), ("schedule", Schedule), ("precision", Precision)):
            _require(getattr(self, name) in get_args(choices), name, f"one of {', '.join(get_args(choices))}", self)
        _require(_whole(self.epochs, 1), "epochs", "a whole number, 1 or more", self)
        _require(_whole(self.batch_size, 2), "batch_size", "a whole number, 2 or more (one item makes no pair)", self)
        _require(_whole(self.patience, 0), "patience", "a whole number, 0 or more", self)
        _require(_whole(self.seed, 0) and self.seed < 2**63, "seed", "a whole number from 0 to 2**63 - 1", self)
        _require(0 < self.learning_rate < math.inf, "learning_rate", "a finite number above 0", self)
        _require(0 <= self.weight_decay < math.inf, "weight_decay", "a finite number, 0 or more", self)
        _require(0 <= self.clip_norm < math.inf, "clip_norm", "a finite number, 0 or more", self)
        _require(0 <= self.momentum < 1, "momentum", "at least 0 and below 1", self)
        device_is_known = re.fullmatch(r"auto|cpu|mps|cuda(:\d+)?", self.device) is not None
        _require(device_is_known, "device", "auto, cpu, mps, cuda or cuda:N", self)
        rising = all(a < b for a, b in zip((0, *self.drops), (*self.drops, self.epochs), strict=True))
        _require(not self.drops or rising, "drops", f"rising epochs between 1 and epochs - 1 = {self.epochs - 1}", self)
        _require(not self.drops or self.schedule == "step", "drops", "empty unless schedule is step", self)


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _require(condition: bool, name: str, expected: str, settings: Settings) -> None:
    if not condition:
        raise InputError(f"{name} must be {expected}, got {getattr(settings, name)!r}.")


# config.json: the settings of a run and what was decided at its start, compared whenever the run resumes.
def resolve_settings(
    run: Path | None, settings: Settings, config: Mapping[str, object], network: nn.Module
) -> Settings:
    """The settings with device and precision decided, and the network on that device in channels_last order.

    A run that was begun keeps what its config.json says; a new one writes it.
    """
    requested = as_json({"settings": dataclasses.asdict(settings), "config": config})
    path = None if run is None else run / "config.json"
    record = from_first(lambda: None if path is None or not path.exists() else _read(path, requested))
    device = resolve_device(settings.device if record is None else record["device"])
    network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if record is None:
        precision = "float32" if settings.precision == "auto" else settings.precision
        record = {**requested, "device": str(device), "precision": precision}
        record |= {"likewise": __version__, "torch": torch.__version__, "threads": torch.get_num_threads()}
        record["processes"] = world().size  # it may resume with more or fewer
        if path is not None:
            write_json(path, record)
    return dataclasses.replace(settings, device=str(device), precision=record["precision"])


def with_defaults(written: Mapping[str, object]) -> dict[str, object]:
    """Settings that an earlier version wrote, with the defaults of those that it did not have.

    >>> with_defaults({"epochs": 5})["batch_size"]
    100
    """
    return {**as_json(dataclasses.asdict(Settings())), **written}


def _read(path: Path, requested: Mapping[str, Any]) -> dict[str, Any]:
    record = read_json(path)
    if not isinstance(record, dict) or not {*requested, "device", "precision"} <= record.keys():
        raise InputError(f"{path} was not written by a training run; use another folder.")
    check_record(record, {"device": str, "precision": str, "settings": dict}, path, "use another folder")
    recorded = {"settings": with_defaults(record["settings"]), "config": record["config"]}
    auto = record["precision"] if recorded["settings"]["precision"] == "auto" else "float32"  # once it was measured
    difference = first_difference(_named_precision(recorded, auto), _named_precision(requested, auto))
    if difference:
        name, old, new = difference
        raise InputError(f"{path} has {name} = {old!r}, this run {new!r}; use another folder or the same value.")
    return record


def _named_precision(requested: Mapping[str, Any], auto: str) -> dict[str, Any]:
    settings = requested["settings"]
    precision = auto if settings["precision"] == "auto" else settings["precision"]
    return {**requested, "settings": {**settings, "precision": precision}}
