"""Data sets found under LIKEWISE_DATA and items of one's own, in memory, on disk or as a stream; their augmentation."""

from __future__ import annotations

from pathlib import Path

from likewise.datasets.arrays import image_tensor, load_arrays, load_feature_set
from likewise.datasets.augment import Augmentation, Jitter, Strong, channel_statistics, column_statistics, normalise
from likewise.datasets.cifar import load_cifar10, load_cifar100
from likewise.datasets.digits import load_digits
from likewise.datasets.idx import load_fashion_mnist, load_idx, load_mnist
from likewise.datasets.images import ImageFiles, list_imagenet, load_folder, load_images, random_classes
from likewise.datasets.items import DataSet, Items, ItemStream, in_pieces
from likewise.datasets.omniglot import OMNIGLOT_MEAN, OMNIGLOT_STD, load_omniglot
from likewise.datasets.on_disk import ArrayOnDisk, ImagesOnDisk, UnitLengthOnDisk, keep_on_disk, to_unit_length
from likewise.datasets.stream import load_items, open_items
from likewise.datasets.table import load_table
from likewise.errors import InputError

__all__ = [
    "NAMES",
    "OMNIGLOT_MEAN",
    "OMNIGLOT_STD",
    "ArrayOnDisk",
    "Augmentation",
    "DataSet",
    "ImageFiles",
    "ImagesOnDisk",
    "ItemStream",
    "Items",
    "Jitter",
    "Strong",
    "UnitLengthOnDisk",
    "channel_statistics",
    "column_statistics",
    "image_tensor",
    "in_pieces",
    "keep_on_disk",
    "list_imagenet",
    "load",
    "load_arrays",
    "load_feature_set",
    "load_folder",
    "load_idx",
    "load_images",
    "load_items",
    "load_omniglot",
    "load_table",
    "normalise",
    "open_items",
    "random_classes",
    "to_unit_length",
]

NAMES = ("digits", "mnist", "fashion-mnist", "cifar10", "cifar100")


def load(name: str, data: Path | str | None = None) -> DataSet:
    """Load a data set by its name; `data` (or LIKEWISE_DATA, or `data` right here) is the folder of all sets' folders.

    >>> load("digits").train.n_classes
    10
    """
    match name:
        case "digits":
            return load_digits()
        case "mnist":
            return load_mnist(data)
        case "fashion-mnist":
            return load_fashion_mnist(data)
        case "cifar10":
            return load_cifar10(data)
        case "cifar100":
            return load_cifar100(data)
    raise InputError(f"There is no data set called {name!r}; choose one of {', '.join(NAMES)}.")
