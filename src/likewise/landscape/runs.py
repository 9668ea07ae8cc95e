"""A finished run with class labels, as `likewise paper table1` leaves it: its network, data set and criterion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import load as load_tensors
from torch import nn

from likewise.datasets import DataSet, load
from likewise.errors import InputError
from likewise.landscape.losses import FixedBatch, labelled_batches
from likewise.networks import build
from likewise.storage.records import read_json


@dataclass(frozen=True)
class RunNames:
    """What config.json says of a run."""

    folder: Path
    dataset: str
    network: str
    criterion: str  # empty where it is not said


def open_runs(
    runs: Sequence[Path | str],
    data: Path | str | None = None,
    *,
    items: int,
    batch_size: int,
    seed: int,
    dataset: str | None = None,
    network: str | None = None,
) -> tuple[list[nn.Module], tuple[FixedBatch, ...], dict[str, Any]]:
    """The networks of runs on one data set, batches of its training items, and the names."""
    named = [read_names(run, dataset=dataset, network=network) for run in runs]
    first = named[0]
    for other in named[1:]:
        if other.dataset != first.dataset:
            raise InputError(
                f"{other.folder} was trained on {other.dataset} and {first.folder} on {first.dataset}; "
                "give runs on one data set."
            )
        if other.network != first.network:
            raise InputError(
                f"{other.folder} is a {other.network} and {first.folder} a {first.network}; give runs of one network."
            )
    loaded = load(first.dataset, data)
    batches = labelled_batches(
        loaded.train, n=items, batch_size=batch_size, seed=seed, mean=loaded.mean, std=loaded.std
    )
    names = {
        "dataset": first.dataset,
        "network": first.network,
        "runs": [run.folder.resolve().name for run in named],
        "criteria": [run.criterion for run in named],
    }
    return [read_network(run, loaded) for run in named], batches, names


def read_names(folder: Path | str, *, dataset: str | None = None, network: str | None = None) -> RunNames:
    """The names; what is given goes before what the run says."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.exists():
        raise InputError(f"{folder} is not a run: config.json is missing; give a folder that a training run wrote.")
    config = read_json(path)
    told: Any = config.get("config") if isinstance(config, dict) else None
    if not isinstance(told, dict):
        raise InputError(f"{path} was not written by a training run; give another folder.")
    names = {"dataset": dataset or told.get("dataset"), "network": network or told.get("network")}
    for name, value in names.items():
        if not isinstance(value, str):
            raise InputError(f"{path} does not say the {name}; give it (--{name}).")
    return RunNames(folder, str(names["dataset"]), str(names["network"]), str(told.get("criterion", "")))


def read_network(run: RunNames, data: DataSet) -> nn.Module:
    """The trained network."""
    path = run.folder / "model.safetensors"
    if not path.exists():
        raise InputError(
            f"{run.folder} is not finished, model.safetensors is missing; run its command again to resume."
        )
    try:
        weights = load_tensors(path.read_bytes())
    except Exception as error:  # its readers raise whatever they meet: SafetensorError, KeyError, ValueError, ...
        raise InputError(f"{path} is damaged ({error}); delete it and run its command again.") from error
    n_outputs = len(weights["last.weight"]) if "last.weight" in weights else data.train.n_classes
    network = build(run.network, n_outputs, tuple(data.train.inputs.shape[1:]))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        problem = str(error).splitlines()[-1].strip()
        raise InputError(f"{path} is not a {run.network} for {run.dataset}: {problem}") from error
    return network
