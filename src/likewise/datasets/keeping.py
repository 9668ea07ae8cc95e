"""Items in a folder, for those that do not fit into memory: one file of rows, of which any batch can be read.

inputs.npy      the rows, as they would lie in memory; the last ones are empty where images could not be read
items.parquet   the id and the label of each, and what they were made from; the last file of all

Images are decoded and tables are parsed once, and not in every epoch: after that a row is one place in a file, in
whatever order rows are asked for. Of a Parquet file a whole row group would be read for each of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from torch import Tensor

from likewise.datasets.array_on_disk import ArrayOnDisk
from likewise.datasets.items import Items, ItemStream
from likewise.distributed import from_first
from likewise.errors import InputError
from likewise.storage.atomic_files import open_atomically

ABOUT = b"likewise"  # the key of our own words in items.parquet


def keep_on_disk(stream: ItemStream, folder: Path | str, stamp: str = "") -> Items:
    """The items of a stream with their inputs in a folder, read a batch at a time; what else they are is in memory.

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
                whole = file.tell() + len(stream) * rows[0].nbytes
            file.write(np.ascontiguousarray(rows).data)
            ids.extend(chunk.ids)
            labels.append(chunk.labels)
            yield True
        file.truncate(whole)
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
    there = "id" in table.column_names
    ids = tuple(name.decode(errors="surrogateescape") for name in table["id"].to_pylist()) if there else ()
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
    there = next(place for place in (folder, *folder.absolute().parents) if place.exists())
    free = shutil.disk_usage(there).free
    if n_bytes > free:
        raise InputError(
            f"The items take {n_bytes / 1e9:.1f} GB on disk, and {free / 1e9:.1f} GB are free for {folder}; give a "
            "folder on a larger disk."
        )
