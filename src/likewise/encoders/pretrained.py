"""A pretrained network with its preprocessing, in memory: every kind of encoder is loaded as one, from its package."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from likewise.errors import InputError

Takes = Literal["photos", "texts", "anything"]
Precision = Literal["float32", "bfloat16"]


class UnusableItem(Exception):
    """An item that an encoder cannot take; the text says why."""


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Items in, features out. `facts` is what a saved model remembers of it."""

    name: str  # as `load_encoder` takes it
    takes: Takes
    version: str  # of the package that brought it
    sha256: str  # of its weights; empty where it cannot be known
    width: int  # of the features; 0 where it is known after the first batch
    preprocessing: dict[str, Any]  # as JSON holds it
    prepare: Callable[[Any], Any]  # one item, by a thread: pixels or token ids; raises UnusableItem
    compute: Callable[[Sequence[Any], torch.device, Precision], Tensor]  # prepared items -> (b, width)
    length: Callable[[Any], int] | None = None  # of a prepared item, where a batch is padded to its longest
    network: nn.Module | None = field(default=None, repr=False)  # tensors of prepared items -> (b, width)
    view: Callable[[int], Pretrained] | None = None  # the same on an augmented view of each item, by its number
    with_network: Callable[[nn.Module], Pretrained] | None = None  # the same with other weights in such a network

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "takes": self.takes,
            "version": self.version,
            "sha256": self.sha256,
            "width": self.width,
            "preprocessing": self.preprocessing,
        }


def weights_sha256(network: nn.Module) -> str:
    """SHA-256 of the names, types, shapes and values of all parameters and buffers, in the order of their names."""
    digest = hashlib.sha256()
    for name, value in sorted(network.state_dict().items()):
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}\n".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()


def run_network(network: nn.Module, inputs: tuple[Tensor, ...], device: torch.device, precision: Precision) -> Tensor:
    """The network's output as float32 on the CPU."""
    if device.type != "cpu":
        network.to(device)
        inputs = tuple(part.to(device) for part in inputs)
    with torch.inference_mode(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
        out: Tensor = network(*inputs)
    return out.float().cpu()


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def package_folder(module: str, encoder: str, install: str) -> Path:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"The encoder {encoder} needs the package {module}; pip install {install}.")
    return Path(next(iter(spec.submodule_search_locations)))


def package_version(distribution: str) -> str:
    try:
        return version_of(distribution)
    except PackageNotFoundError:
        return ""


def package(module: str, encoder: str, install: str) -> Any:
    """The package, imported; one that is there and cannot be imported says why."""
    if not is_installed(module):
        raise InputError(f"The encoder {encoder} needs the package {module}; pip install {install}.")
    try:
        return import_module(module)
    except Exception as error:  # packages raise whatever they meet: ImportError, RuntimeError, OSError, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"The encoder {encoder} needs the package {module}, which cannot be imported ({reason}); reinstall it."
        ) from error


def file_of(folder: Path, name: str, encoder: str, distribution: str) -> Path:
    """A file that a package should hold."""
    path = folder / name
    if not path.is_file():
        raise InputError(
            f"The encoder {encoder} needs {path}, which is missing; pip install --force-reinstall {distribution}."
        )
    return path
