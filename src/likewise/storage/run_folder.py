"""A run's folder: config.json, history.csv, metrics.json, model.safetensors; every file appears whole or not at all."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.storage.atomic_files import WriteError, is_writer, write_atomically, writing_to
from likewise.storage.records import read_json

if sys.platform != "win32":  # Windows has no such lock
    import fcntl


@contextmanager
def lock_folder(folder: Path | None) -> Iterator[None]:
    """Make the folder and keep other processes out of it; the lock goes with the process, however it ends.

    Of the processes of one job the first does this for all of them.
    """
    if folder is None or not is_writer():
        yield
        return
    try:
        with writing_to(folder):
            folder.mkdir(parents=True, exist_ok=True)
    except WriteError as error:
        if error.errno not in (errno.EEXIST, errno.ENOTDIR):
            raise
        raise InputError(f"{folder} is a file; give a folder to the run.") from error
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _lock(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, folder: Path) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise InputError(f"{folder} is in use by another process; wait for its end or use another folder.") from error


def finished_stages(run: Path) -> dict[str, Any]:
    """What metrics.json says of each run that ended in a folder within `run`, by the name of that folder."""
    return {file.parent.name: read_json(file) for file in sorted(run.rglob("metrics.json"))}


def write_history(path: Path, history: Sequence[Mapping[str, object]]) -> None:
    """Write one row per epoch; the columns are those of all rows, in the order they first appear."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in history for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(history)
    write_atomically(path, text.getvalue())


def write_model(path: Path, network: nn.Module) -> str:
    """Write the weights and buffers alone, by their names in the network; gives the SHA-256 of the file."""
    return write_tensors(path, network_tensors(network))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write tensors by their names; gives the SHA-256 of the file."""
    content = save({name: stored(value) for name, value in tensors.items()}, {"format": "pt"})
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def network_tensors(network: nn.Module) -> dict[str, Tensor]:
    """The network's parameters and buffers as separate contiguous tensors on the CPU (safetensors takes no others)."""
    tensors = network.state_dict()
    for name, value in tensors.items():
        if not isinstance(value, Tensor):
            raise InputError(f"The network's state {name} is a {type(value).__name__}, and only tensors can be saved.")
    return {name: stored(value) for name, value in tensors.items()}


def stored(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu().clone(memory_format=torch.contiguous_format)
