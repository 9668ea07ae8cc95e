"""MNIST and every other set in its idx format, plain or gzipped.

An idx file is: two zero bytes, a type code (0x08: unsigned byte), the number of dimensions, each dimension as a
big-endian 32-bit integer, then the values.
"""

from __future__ import annotations

import math
import zlib
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.datasets.augment import channel_statistics
from likewise.datasets.items import DataSet, Items
from likewise.datasets.source_files import get_again, gunzip, locate
from likewise.errors import InputError

MNIST_MEAN, MNIST_STD = (0.1307,), (0.3081,)
FASHION_MNIST_MEAN, FASHION_MNIST_STD = (0.2860,), (0.3530,)
MNIST_FILES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)
UNSIGNED_BYTE = 0x08
SOUND_COPY = "replace it with a sound copy"


def load_mnist(data: Path | str | None = None) -> DataSet:
    """The 60,000 and 10,000 handwritten digits, from `mnist/` in the data folder."""
    return DataSet("mnist", *_read_set("mnist", data), MNIST_MEAN, MNIST_STD)


def load_fashion_mnist(data: Path | str | None = None) -> DataSet:
    """The 60,000 and 10,000 pictures of clothes, from `fashion-mnist/` in the data folder."""
    return DataSet("fashion-mnist", *_read_set("fashion-mnist", data), FASHION_MNIST_MEAN, FASHION_MNIST_STD)


def load_idx(folder: Path | str) -> DataSet:
    """Any folder with MNIST's four file names (Fashion-MNIST, KMNIST, ...); its statistics are measured.

    >>> import tempfile
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> for part in ("train", "t10k"):
    ...     header = np.array([2051, 2, 4, 4, 2049, 2], dtype=">i4")  # two images of 4 x 4 pixels, and two labels
    ...     (folder / f"{part}-images-idx3-ubyte").write_bytes(header[:4].tobytes() + bytes(range(32)))
    ...     (folder / f"{part}-labels-idx1-ubyte").write_bytes(header[4:].tobytes() + bytes([0, 1]))
    48
    10
    48
    10
    >>> data = load_idx(folder)
    >>> data.train.inputs.shape, data.train.labels
    (torch.Size([2, 1, 4, 4]), tensor([0, 1]))
    """
    folder = Path(folder)
    paths = []
    for file in MNIST_FILES:
        existing = [path for path in (folder / f"{file}.gz", folder / file) if path.exists()]
        if not existing:
            raise InputError(f"{file}.gz is not in {folder}; put the set's four idx files there.")
        paths.append(existing[0])
    train, test = _read_both(paths, None, SOUND_COPY)
    return DataSet(folder.name, train, test, *channel_statistics(train.inputs))


def read_idx(path: Path | str, dimensions: int, remedy: str = SOUND_COPY) -> NDArray[np.uint8]:
    """The array in one file; `dimensions` is 3 for images and 1 for labels."""
    path = Path(path)
    try:
        content = gunzip(path) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); {remedy}.") from error

    magic = bytes([0, 0, UNSIGNED_BYTE, dimensions])
    if content[:4] != magic:
        beginning = content[:4].hex(" ") or "nothing"
        raise InputError(f"{path} begins with {beginning} where {magic.hex(' ')} was expected; {remedy}.")
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise InputError(f"{path} ends within its header; {remedy}.")
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", dimensions, offset=4))
    promised, held = math.prod(shape), len(content) - header
    if promised != held:
        raise InputError(f"{path} holds {held} bytes where its header promises {promised}; {remedy}.")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape).copy()  # writable, as torch wants it


def _read_set(name: str, data: Path | str | None) -> tuple[Items, Items]:
    paths = [locate(name, (f"{file}.gz", file), data) for file in MNIST_FILES]
    return _read_both(paths, 10, get_again(name, data))


def _read_both(paths: list[Path], n_classes: int | None, remedy: str) -> tuple[Items, Items]:
    arrays = [read_idx(path, 1 if "labels" in path.name else 3, remedy) for path in paths]
    for images, labels, image_path, label_path in zip(arrays[::2], arrays[1::2], paths[::2], paths[1::2], strict=True):
        if len(images) != len(labels) or not len(images):
            raise InputError(
                f"{image_path} holds {len(images)} images and {label_path} holds {len(labels)} labels; "
                "replace the one that is wrong."
            )
        if n_classes is not None and labels.max() >= n_classes:
            raise InputError(f"{label_path} holds label {labels.max()}, past {n_classes - 1}; {remedy}.")
    if n_classes is None:
        n_classes = 1 + max(int(labels.max()) for labels in arrays[1::2])
    names = tuple(str(label) for label in range(n_classes))
    train, test = (
        Items(torch.from_numpy(images[:, None]), torch.from_numpy(labels.astype(np.int64)), names)
        for images, labels in zip(arrays[::2], arrays[1::2], strict=True)
    )
    return train, test
