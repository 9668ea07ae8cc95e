"""Data sets as uint8 tensors in memory, found under LIKEWISE_DATA, and batch augmentation on them."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from likewise.datasets.arrays import load_arrays
from likewise.datasets.augment import Augmentation, normalise
from likewise.datasets.cifar import load_cifar10, load_cifar100
from likewise.datasets.digits import load_digits
from likewise.datasets.folder import load_folder
from likewise.datasets.idx import load_idx, load_mnist
from likewise.datasets.items import DataSet, Items
from likewise.datasets.omniglot import load_omniglot
from likewise.errors import InputError

__all__ = [
    "NAMES",
    "Augmentation",
    "DataSet",
    "Items",
    "load",
    "load_arrays",
    "load_folder",
    "load_idx",
    "load_items",
    "load_omniglot",
    "normalise",
]

NAMES = ("digits", "mnist", "cifar10", "cifar100")


def load(name: str, data: Path | str | None = None) -> DataSet:
    """A set by its name; `data` (else LIKEWISE_DATA, else `data` right here) is the folder with all sets' folders.

    >>> load("digits").train.n_classes
    10
    """
    match name:
        case "digits":
            return load_digits()
        case "mnist":
            return load_mnist(data)
        case "cifar10":
            return load_cifar10(data)
        case "cifar100":
            return load_cifar100(data)
    raise InputError(f"There is no data set called {name!r}; choose one of {', '.join(NAMES)}.")


def load_items(path: Path | str, *, size: int = 32, channels: Literal[1, 3] = 3, strict: bool = False) -> Items:
    """The items at a path: a folder of images (see `load_folder` for the options), or an .npy or .npz file."""
    path = Path(path)
    if path.is_dir():
        return load_folder(path, size=size, channels=channels, strict=strict)
    if path.suffix.lower() in (".npy", ".npz"):
        return load_arrays(path)
    what = "is not an .npy or .npz file" if path.exists() else "does not exist"
    raise InputError(f"{path} {what}; give a folder of images, an .npy or an .npz file.")
