"""Items from NumPy files: uint8 images or features, with labels and ids where an .npz holds them. Never unpickles."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.lib.format import (
    MAGIC_PREFIX,
    open_memmap,
    read_array_header_1_0,
    read_array_header_2_0,
    read_magic,
)
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import normalize

from likewise.datasets.augment import column_statistics
from likewise.datasets.items import DataSet, Items, ItemStream, number_labels, own_ids
from likewise.datasets.source_files import most_unpacked
from likewise.errors import InputError

INPUT_KEYS = ("x", "X", "images", "features")
LABEL_KEYS = ("y", "labels")
MOST_CHANNELS = 4  # an axis longer than this is height or width
LONGEST_HEADER = 2**15  # bytes; NumPy reads no header of more than 10,000
ROWS = 4096  # looked through at a time for what cannot be used

Array = NDArray[Any]


def load_arrays(path: Path | str) -> Items:
    """The items of an .npy or .npz file.

    Images are uint8 of shape (n, H, W), (n, H, W, C) or (n, C, H, W); features are numbers of shape (n, d). An .npz has
    them under x, X, images or features, and may have labels under y or labels: integers (-1 or -100 where unknown) or
    text, and ids under ids: integers or text, for each item its own.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "items.npz"
    >>> np.savez(file, X=np.eye(3), y=["ant", "bee", "ant"])
    >>> items = load_arrays(file)
    >>> items.inputs.shape, items.labels, items.class_names
    (torch.Size([3, 3]), tensor([0, 1, 0]), ('ant', 'bee'))
    """
    arrays = _open(Path(path))
    return arrays.part(0, len(arrays.inputs))


def open_arrays(path: Path, chunk: int) -> ItemStream:
    """The same a chunk at a time: an .npy is never whole in memory, an .npz is decompressed once."""
    arrays = _open(path)
    arrays.inputs.flags.writeable = False  # so that chunks are copies, and changing one changes no other

    def read(broken: list[str]) -> Iterator[Items]:
        for start in range(0, len(arrays.inputs), chunk):
            yield arrays.part(start, start + chunk)

    shape = arrays.inputs.shape[1:]
    return ItemStream(len(arrays.inputs), read, item_bytes=prod(shape) * (1 if len(shape) == 3 else 4))


@dataclass(frozen=True)
class _Arrays:
    path: Path
    inputs: Array  # as stored, but images with channels first; mapped, not read, where the file is an .npy
    labels: Tensor
    class_names: tuple[str, ...]
    ids: tuple[str, ...]

    def part(self, start: int, stop: int) -> Items:
        rows = self.inputs[start:stop]
        inputs = _pixels(rows) if self.inputs.ndim == 4 else self._features(rows)
        return Items(inputs, self.labels[start:stop], self.class_names, self.ids[start:stop])

    def _features(self, rows: Array) -> Tensor:
        features = _float32(rows)
        if not np.isfinite(features).all():
            raise self._unusable()
        return torch.from_numpy(features)

    def _unusable(self) -> InputError:
        starts = range(0, len(self.inputs), ROWS)
        usable = [np.isfinite(_float32(self.inputs[start : start + ROWS])).all(axis=1) for start in starts]
        unusable = np.flatnonzero(~np.concatenate(usable))
        row = int(unusable[0])
        column = int(np.flatnonzero(~np.isfinite(_float32(self.inputs[row])))[0])
        return InputError(
            f"{self.path}, row {row}: column {column} is {self.inputs[row, column]}; fill in or remove the "
            f"{len(unusable)} rows with NaN or infinite values (rows are counted from 0)."
        )


def _open(path: Path) -> _Arrays:
    arrays, others = _read(path)
    array = _one_of(INPUT_KEYS, arrays, path)
    if array is None:
        held = ", ".join([*arrays, *others]) or "nothing"
        raise InputError(f"{path} holds {held}; name the array of items one of {', '.join(INPUT_KEYS)}.")
    inputs = _inputs(array, path)
    try:
        labels, names = _labels(_one_of(LABEL_KEYS, arrays, path), len(inputs), path)
        return _Arrays(path, inputs, labels, names, _ids(arrays.get("ids"), len(inputs), path))
    except UnicodeError as error:
        raise InputError(f"{path} holds labels or ids that are not text ({error}); give text or integers.") from error


def _read(path: Path) -> tuple[dict[str, Array], list[str]]:
    """The arrays that are of use, and the names of the others in the file."""
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX:
                return {"x": open_memmap(path, mode="r")}, []
        with zipfile.ZipFile(path) as archive:
            members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            if sum(member.file_size for member in members.values()) > most_unpacked(path.stat().st_size):
                raise ValueError("it unpacks to far more than a file of its size should")
            wanted = [name for name in members if name in (*INPUT_KEYS, *LABEL_KEYS, "ids")]
            return {name: _array(archive, members[name]) for name in wanted}, sorted(set(members) - set(wanted))
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; give the .npy or .npz file that holds the items.") from error
    except Exception as error:  # the readers raise whatever they meet: OSError, ValueError, BadZipFile, TokenError, ...
        raise InputError(
            f"{path} cannot be read as a NumPy file of plain arrays ({error}); write it again with numpy.save or "
            "numpy.savez, without object arrays."
        ) from error


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """What an .npy in a zip holds; a header that promises more than is there asks for no memory."""
    content = bytearray()
    with archive.open(member) as file:
        while block := file.read(2**20):
            content += block
    start = io.BytesIO(content[:LONGEST_HEADER])
    read_header = read_array_header_1_0 if read_magic(start) == (1, 0) else read_array_header_2_0
    shape, by_column, kind = read_header(start)
    if kind.hasobject or any(side < 0 for side in shape):
        raise ValueError(f"it holds {kind} of shape {shape}")
    values: Array = np.frombuffer(content, kind, math.prod(shape), start.tell())
    return values.reshape(shape, order="F" if by_column else "C")


def image_tensor(array: Array, name: str) -> Tensor:
    """Images in an array of bytes, its channels anywhere, as (n, C, H, W); errors call it `name`."""
    return _pixels(_inputs(array, name))


def _one_of(keys: tuple[str, ...], arrays: dict[str, Array], path: Path) -> Array | None:
    present = [key for key in keys if key in arrays]
    if len(present) > 1:
        raise InputError(f"{path} holds both {present[0]} and {present[1]}; keep one of them.")
    return arrays[present[0]] if present else None


def _inputs(array: Array, path: Path | str) -> Array:
    if array.ndim and not len(array):
        raise InputError(f"{path} holds no items, its array has shape {array.shape}; give at least one row.")
    if array.ndim == 2 and array.dtype.kind in "fiub":
        return array
    if array.ndim not in (3, 4) or array.dtype != np.uint8:
        raise InputError(
            f"{path} holds {array.dtype} of shape {array.shape}; give uint8 images (n, H, W), (n, H, W, C) or "
            "(n, C, H, W), or features (n, d)."
        )
    if array.ndim == 3:
        return array[:, None]
    if array.shape[1] <= MOST_CHANNELS:
        return array
    if array.shape[3] <= MOST_CHANNELS:
        return array.transpose(0, 3, 1, 2)
    raise InputError(
        f"{path} holds images of shape {array.shape} in which neither the second nor the last axis can be the "
        f"channels; give at most {MOST_CHANNELS} of them."
    )


def _pixels(rows: Array) -> Tensor:
    images = np.ascontiguousarray(rows)
    return torch.from_numpy(images if images.flags.writeable else images.copy())  # torch wants to be able to write


def _float32(rows: Array) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):  # what does not fit into float32 becomes infinite, and is refused
        features = np.ascontiguousarray(rows, dtype=np.float32)
    return features if features.flags.writeable else features.copy()


def _labels(array: Array | None, n_items: int, path: Path) -> tuple[Tensor, tuple[str, ...]]:
    if array is None:
        return torch.full((n_items,), -1, dtype=torch.int64), ()
    if array.shape != (n_items,):
        raise InputError(f"{path} holds {n_items} items but labels of shape {array.shape}; give one label per item.")
    if array.dtype.kind not in "iubU":
        raise InputError(f"{path} holds labels of type {array.dtype}; give integers (-1 where unknown) or text.")
    return number_labels(array if array.dtype.kind == "U" else array.astype(np.int64), path)


def _ids(array: Array | None, n_items: int, path: Path) -> tuple[str, ...]:
    if array is None:
        return ()
    if array.shape != (n_items,):
        raise InputError(f"{path} holds {n_items} items but ids of shape {array.shape}; give one id per item.")
    if array.dtype.kind not in "iuU":
        raise InputError(f"{path} holds ids of type {array.dtype}; give integers or text.")
    texts = pa.array([str(name) for name in array.tolist()], pa.string())
    return tuple(own_ids(texts, path, "ids", "row {}".format).to_pylist())


# A set of feature vectors in one .npz file, split by the order of its rows.


def load_feature_set(path: Path | str, *, unseen: int = 10) -> DataSet:
    """Features X (n, d) and classes y (n,) of an .npz file; every row is scaled to unit length.

    The last `unseen` rows of each class, in the order of the file, are the test set, and all rows before them the
    training set. So the split is stratified and never changes.

    >>> import tempfile
    >>> import numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "features.npz"
    >>> np.savez(file, X=np.arange(1, 13).reshape(6, 2), y=[0, 0, 0, 1, 1, 1])
    >>> data = load_feature_set(file, unseen=1)
    >>> len(data.train), len(data.test)
    (4, 2)
    """
    path = Path(path)
    items = load_arrays(path)
    if items.inputs.ndim != 2 or not items.n_classes or bool((items.labels < 0).any()):
        raise InputError(f"{path} must hold features X (n, d) and a class in y for each of them.")
    classes = [torch.nonzero(items.labels == label).flatten() for label in range(items.n_classes)]
    smallest = min(len(rows) for rows in classes)
    if smallest <= unseen:
        raise InputError(
            f"{path} has a class of {smallest} items, of which {unseen} would be left unseen; give larger classes."
        )
    train = torch.cat([rows[:-unseen] for rows in classes]).sort().values
    test = torch.cat([rows[-unseen:] for rows in classes]).sort().values
    lengths = items.inputs.norm(dim=1)
    if bool((lengths == 0).any()):
        raise InputError(f"{path}, row {int(lengths.argmin())}: all features are 0, so it has no direction. Remove it.")
    unit = replace(items, inputs=normalize(items.inputs, dim=1))
    learned = unit.subset(train)
    return DataSet(path.stem, learned, unit.subset(test), *column_statistics(learned.inputs))
