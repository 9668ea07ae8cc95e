"""Items that stay on disk: images in their files, rows of an .npy file, and those kept in a folder for a run."""

from __future__ import annotations

import json
import mmap
import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import prod
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from numpy.lib.format import read_array_header_1_0, read_magic
from torch import Tensor

from likewise.datasets.images import ImageFiles, UnreadableImage, read_image
from likewise.datasets.items import Items, ItemStream
from likewise.distributed import from_first
from likewise.errors import InputError
from likewise.storage.atomic_files import open_atomically


# An array that stays in its .npy file, indexed as a tensor is.
class ArrayOnDisk:
    """Rows of a file that are read when they are indexed: `array[index]` gives these rows alone, as a new tensor.

    What was read does not stay with this process; whether it stays in the machine's cache is up to the system. `n_rows`
    says how many rows count, where the last ones are empty.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "features.npy"
    >>> np.save(path, np.arange(6, dtype=np.float32).reshape(3, 2))
    >>> array = ArrayOnDisk(path)
    >>> array.shape, array[torch.tensor([2, 0])]
    ((3, 2), tensor([[4., 5.],
            [0., 1.]]))
    """

    def __init__(self, path: Path | str, n_rows: int | None = None) -> None:
        with Path(path).open("rb") as file:
            if read_magic(file) != (1, 0):
                raise InputError(f"{path} is a NumPy file of another version; write it again with numpy.save.")
            shape, fortran_order, kind = read_array_header_1_0(file)
            if fortran_order or kind not in (np.uint8, np.float32):
                raise InputError(
                    f"{path} holds {kind}{' column by column' if fortran_order else ''}; write it again, uint8 or "
                    "float32 and row by row (numpy.ascontiguousarray)."
                )
            self.mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            values = np.frombuffer(self.mapped, kind, prod(shape), file.tell())
        self.rows = values.reshape(shape)[:n_rows]
        self.shape = self.rows.shape
        self.dtype = torch.uint8 if kind == np.uint8 else torch.float32

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        read = self.rows[index].copy() if isinstance(index, slice) else self.rows[index.numpy()]
        if hasattr(mmap, "MADV_DONTNEED"):  # else the system lets go of pages only where memory is short
            self.mapped.madvise(mmap.MADV_DONTNEED)
        return torch.from_numpy(read)


class ImagesOnDisk:
    """`images[index]` reads these images, as uint8 (b, C, S, S); memory holds one batch, and not the whole.

    The decoders release Python's lock, so that threads share the work. An image that cannot be read is an InputError.
    """

    dtype = torch.uint8
    ndim = 4

    def __init__(self, files: ImageFiles, size: int, channels: Literal[1, 3] = 3) -> None:
        self.files, self.size, self.channels = files, size, channels
        self.pool = ThreadPoolExecutor(os.cpu_count())

    def __len__(self) -> int:
        return len(self.files.ids)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        return len(self), self.channels, self.size, self.size

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        if isinstance(index, slice):
            numbers = list(range(len(self))[index])
        else:
            numbers = (torch.arange(len(self))[index] if index.dtype == torch.bool else index).tolist()
        images = np.empty((len(numbers), self.channels, self.size, self.size), dtype=np.uint8)
        for place, image in enumerate(self.pool.map(self._read, numbers)):
            images[place] = image
        return torch.from_numpy(images)

    def _read(self, number: int) -> np.ndarray:
        try:
            return read_image(self.files.path(number), self.size, self.channels)
        except UnreadableImage as error:
            raise InputError(
                f"{self.files.path(number)} cannot be read ({error}); replace it, or delete it and begin again."
            ) from error


# Items in a folder, for those that do not fit into memory: one file of rows, of which any batch can be read.
#
# inputs.npy      the rows, as they would lie in memory; the last ones are empty where images could not be read
# items.parquet   the id and the label of each, and what they were made from; the last file of all
#
# Images are decoded and tables are parsed once, and not in every epoch: after that a row is one place in a file, in
# whatever order rows are asked for. Of a Parquet file a whole row group would be read for each of them.

ABOUT = b"likewise"  # the key of our own words in items.parquet


def keep_on_disk(stream: ItemStream, folder: Path | str, stamp: str = "") -> Items:
    """Write the inputs of a stream to a folder, from which batches are read; all else about the items is in memory.

    The inputs are an `ArrayOnDisk`, which stands for the tensor: training and prediction give the same with it, to the
    bit. Where the folder holds items with this `stamp` already, they are not read again. Of several processes the first
    alone reads and writes, while the others hear from it after each chunk.

    >>> import tempfile
    >>> pile = Items(torch.arange(3.0)[:, None], torch.tensor([-1, -1, -1]))
    >>> kept = keep_on_disk(ItemStream(3, lambda broken: iter([pile])), tempfile.mkdtemp())
    >>> kept.inputs[torch.tensor([2, 1])].flatten().tolist()
    [2.0, 1.0]
    """
    folder = Path(folder)
    writing = _write(stream, folder, stamp)
    while from_first(lambda: next(writing, False)):
        pass
    items, about = _open(folder)
    stream.broken = about["broken"]
    return items


def _write(stream: ItemStream, folder: Path, stamp: str) -> Iterator[bool]:
    """Write the files, unless they are there; gives a sign of life after each chunk."""
    if stamp and _about(folder).get("stamp") == stamp:
        return
    _check_room(stream.n_bytes, folder)
    (folder / "items.parquet").unlink(missing_ok=True)
    ids: list[str] = []
    labels: list[Tensor] = []
    first: Items | None = None
    with open_atomically(folder / "inputs.npy") as file:
        for chunk in stream:
            rows = chunk.inputs.numpy()
            if first is None:
                first = chunk
                form = np.lib.format.header_data_from_array_1_0(rows) | {"shape": (len(stream), *rows.shape[1:])}
                np.lib.format.write_array_header_1_0(file, form)
                size = file.tell() + len(stream) * rows[0].nbytes
            file.write(np.ascontiguousarray(rows).data)
            ids.extend(chunk.ids)
            labels.append(chunk.labels)
            yield True
        file.truncate(size)
    assert first is not None
    about = {"stamp": stamp, "class_names": first.class_names, "columns": first.columns, "broken": stream.broken}
    columns: dict[str, Any] = {"label": torch.cat(labels).numpy()}
    if ids:
        columns["id"] = pa.array([name.encode(errors="surrogateescape") for name in ids], pa.binary())
    with open_atomically(folder / "items.parquet") as file:
        pyarrow.parquet.write_table(pa.table(columns).replace_schema_metadata({ABOUT: json.dumps(about)}), file)


def _open(folder: Path) -> tuple[Items, dict[str, Any]]:
    about = _about(folder)
    table = pyarrow.parquet.read_table(folder / "items.parquet")
    labels = torch.from_numpy(table["label"].to_numpy().copy())
    has_ids = "id" in table.column_names
    ids = tuple(name.decode(errors="surrogateescape") for name in table["id"].to_pylist()) if has_ids else ()
    inputs = cast(Tensor, ArrayOnDisk(folder / "inputs.npy", len(labels)))  # as far as batches and predictions go
    return Items(inputs, labels, tuple(about["class_names"]), ids, tuple(about["columns"])), about


def _about(folder: Path) -> dict[str, Any]:
    """What items.parquet says of itself; nothing where it is not there, or is damaged."""
    try:
        said = pyarrow.parquet.read_schema(folder / "items.parquet").metadata[ABOUT]
    except (OSError, pa.ArrowException, KeyError):
        return {}
    about: dict[str, Any] = json.loads(said)
    return about


def _check_room(n_bytes: int, folder: Path) -> None:
    existing = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if n_bytes > free:
        raise InputError(
            f"The items take {n_bytes / 1e9:.1f} GB on disk, and {free / 1e9:.1f} GB are free for {folder}; give a "
            "folder on a larger disk."
        )


# Feature vectors brought to length 1, in memory or as they are read from disk.

SMALLEST = torch.finfo(torch.float32).tiny


def to_unit_length(features: Tensor) -> Tensor:
    """Each row (d,) divided by its Euclidean length; a row of zeros stays as it is.

    >>> to_unit_length(torch.tensor([[3.0, 4.0], [0.0, 0.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 0.0000]])
    """
    scaled = features / features.abs().amax(1, keepdim=True).clamp_min(SMALLEST)  # whose squares cannot overflow
    rows: Tensor = scaled / torch.linalg.vector_norm(scaled, dim=1, keepdim=True).clamp_min(SMALLEST)
    return rows


class UnitLengthOnDisk:
    """The rows of an `ArrayOnDisk` of features, each brought to length 1 when it is read."""

    def __init__(self, array: ArrayOnDisk) -> None:
        self.array = array
        self.shape, self.dtype, self.ndim = array.shape, torch.float32, array.ndim

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Tensor | slice) -> Tensor:
        return to_unit_length(self.array[index].float())
