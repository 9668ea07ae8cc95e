"""Items by what is at a path: a folder of images, an array, a table; as a stream, or all in memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from likewise.datasets import table
from likewise.datasets.arrays import load_arrays, open_arrays
from likewise.datasets.images import load_folder, open_folder
from likewise.datasets.items import Items, ItemStream
from likewise.errors import InputError

ARRAY_SUFFIXES = (".npy", ".npz")


def load_items(
    path: Path | str,
    *,
    size: int = 32,
    channels: Literal[1, 3] = 3,
    strict: bool = False,
    columns: Sequence[str] = (),
    grouped: bool = False,
) -> Items:
    """The items at a path: a folder of images, an .npy or .npz file, a .csv or .parquet table.

    `size`, `channels`, `strict` and `grouped` are for images (see `load_folder`), `columns` for tables (see
    `load_table`).

    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir()
    ...     Image.new("RGB", (9, 9)).save(folder / name / "1.png")
    >>> items = load_items(folder, size=8, channels=1)
    >>> items.inputs.shape, items.ids
    (torch.Size([2, 1, 8, 8]), ('cat/1.png', 'dog/1.png'))
    """
    path = Path(path)
    match _kind(path):
        case "folder":
            return load_folder(path, size=size, channels=channels, strict=strict, grouped=grouped)
        case "arrays":
            return load_arrays(path)
        case "table":
            return table.load_table(path, columns=columns)


def open_items(
    path: Path | str,
    *,
    size: int = 32,
    channels: Literal[1, 3] = 3,
    strict: bool = False,
    columns: Sequence[str] = (),
    chunk: int = 1024,
) -> ItemStream:
    """The same items, at most `chunk` in memory at a time, with the same ids.

    What is known before the reading stays in memory: the names of the files, the ids of a table; the whole of an .npz
    too, which cannot be read in parts. Tables come without their labels. An image that cannot be read is named in the
    stream's `broken`, without a warning; with `strict` the first one is an InputError.

    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir()
    ...     Image.new("RGB", (9, 9)).save(folder / name / "1.png")
    >>> for part in open_items(folder, size=8, chunk=1):
    ...     print(part.inputs.shape, part.ids)
    torch.Size([1, 3, 8, 8]) ('cat/1.png',)
    torch.Size([1, 3, 8, 8]) ('dog/1.png',)
    """
    path = Path(path)
    if chunk < 1:
        raise InputError(f"chunk must be at least 1, got {chunk}.")
    match _kind(path):
        case "folder":
            return open_folder(path, size, channels, strict, chunk)
        case "arrays":
            return open_arrays(path, chunk)
        case "table":
            return table.open_table(path, columns, chunk)


def _kind(path: Path) -> Literal["folder", "arrays", "table"]:
    if path.is_dir():
        return "folder"
    suffix = path.suffix.lower()
    if suffix in ARRAY_SUFFIXES:
        return "arrays"
    if suffix in table.SUFFIXES:
        return "table"
    what = "is not a .csv, .parquet, .npy or .npz file" if path.exists() else "does not exist"
    raise InputError(f"{path} {what}; give a folder of images, a .csv or .parquet table, or an .npy or .npz file.")
