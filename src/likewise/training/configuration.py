"""config.json: what a run was told and what was settled at its start, kept and compared whenever it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from likewise import __version__
from likewise.distributed import from_first, world
from likewise.errors import InputError
from likewise.training.precision import resolve_device
from likewise.training.record_form import check_record
from likewise.training.run_folder import first_difference, plain, read_json, write_json
from likewise.training.settings import Settings


def settle(run: Path | None, settings: Settings, config: Mapping[str, object], network: nn.Module) -> Settings:
    """The settings with device and precision decided, and the network on that device in channels_last order.

    A run that was begun keeps what its config.json says; a new one writes it.
    """
    told = plain({"settings": dataclasses.asdict(settings), "config": config})
    path = None if run is None else run / "config.json"
    record = from_first(lambda: None if path is None or not path.exists() else _read(path, told))
    device = resolve_device(settings.device if record is None else record["device"])
    network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    if record is None:
        precision = "float32" if settings.precision == "auto" else settings.precision
        record = {**told, "device": str(device), "precision": precision}
        record |= {"likewise": __version__, "torch": torch.__version__, "threads": torch.get_num_threads()}
        record["processes"] = world().size  # it may go on with more or fewer
        if path is not None:
            write_json(path, record)
    return dataclasses.replace(settings, device=str(device), precision=record["precision"])


def with_defaults(written: Mapping[str, object]) -> dict[str, object]:
    """Settings that an earlier version wrote, with the defaults of those that it did not have.

    >>> with_defaults({"epochs": 5})["batch_size"]
    100
    """
    return {**plain(dataclasses.asdict(Settings())), **written}


def _read(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    record = read_json(path)
    if not isinstance(record, dict) or not {*told, "device", "precision"} <= record.keys():
        raise InputError(f"{path} was not written by a training run; use another folder.")
    check_record(record, {"device": str, "precision": str, "settings": dict}, path, "use another folder")
    begun = {"settings": with_defaults(record["settings"]), "config": record["config"]}
    auto = record["precision"] if begun["settings"]["precision"] == "auto" else "float32"  # once it was measured
    difference = first_difference(_named_precision(begun, auto), _named_precision(told, auto))
    if difference:
        name, old, new = difference
        raise InputError(f"{path} has {name} = {old!r}, this run {new!r}; use another folder or the same value.")
    return record


def _named_precision(told: Mapping[str, Any], auto: str) -> dict[str, Any]:
    settings = told["settings"]
    precision = auto if settings["precision"] == "auto" else settings["precision"]
    return {**told, "settings": {**settings, "precision": precision}}
