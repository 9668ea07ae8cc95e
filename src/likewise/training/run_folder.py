"""A run's folder: config.json, history.csv, metrics.json, model.safetensors; every file appears whole or not at all."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from likewise.errors import InputError
from likewise.files import WriteError, is_writer, write_whole, writing_to

if sys.platform != "win32":  # Windows has no such lock
    import fcntl


@contextmanager
def reserved(folder: Path | None) -> Iterator[None]:
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


def write_json(path: Path | str, value: object) -> None:
    """Write JSON atomically; Path, NumPy and tuple become plain, NaN and infinity become null."""
    write_whole(Path(path), json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); delete it or use another folder.") from error


def finished_stages(run: Path) -> dict[str, Any]:
    """What metrics.json says of each run that ended in a folder within `run`, by the name of that folder."""
    return {file.parent.name: read_json(file) for file in sorted(run.rglob("metrics.json"))}


def write_history(path: Path, history: Sequence[Mapping[str, object]]) -> None:
    """Write one row an epoch; the columns are those of all rows, in the order they first appear."""
    text = io.StringIO()
    table = csv.DictWriter(text, list(dict.fromkeys(name for row in history for name in row)), lineterminator="\n")
    table.writeheader()
    table.writerows(history)
    write_whole(path, text.getvalue())


def write_model(path: Path, network: nn.Module) -> str:
    """Write the weights and buffers alone, by their names in the network; gives the SHA-256 of the file."""
    content = save(network_tensors(network), {"format": "pt"})
    write_whole(path, content)
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


def first_difference(old: object, new: object, name: str = "") -> tuple[str, object, object] | None:
    """The dotted name and both values of the first place where two JSON values differ.

    >>> first_difference({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}})
    ('b.c', 2, 3)
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*new, *(key for key in old if key not in new)]:
            inner = f"{name}.{key}" if name else str(key)
            found = first_difference(old.get(key), new.get(key), inner)
            if found:
                return found
        return None
    return None if old == new else (name, old, new)


def plain(value: object) -> Any:
    """The value as JSON has it."""
    match value:
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case Path():
            return str(value)
        case np.generic() | np.ndarray():
            return plain(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
    raise InputError(f"A {type(value).__name__} cannot be written to JSON; give numbers, text, lists or mappings.")
