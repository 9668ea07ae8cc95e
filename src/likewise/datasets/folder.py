"""A folder of images: sub-folders are classes, files that lie flat have no label."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.datasets.images import SUFFIXES, ImageFiles
from likewise.datasets.items import Items, ItemStream
from likewise.errors import InputError


def load_folder(
    path: Path | str, *, size: int = 32, channels: Literal[1, 3] = 3, strict: bool = False, grouped: bool = False
) -> Items:
    """All images below the folder, in the order of their names, each resized to `size` x `size`.

    The first folder on the way to a file is its class, however deep the file lies; where classes are `grouped`, the
    first two are, as in Greek/alpha/1.png. Files in `path` itself are labelled -1. The ids are the paths relative to
    `path`. Hidden files and folders are passed over. Images that cannot be read are left out with one warning, or, with
    `strict`, are an InputError.

    >>> import tempfile
    >>> from PIL import Image
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("cat", "dog"):
    ...     (folder / name).mkdir()
    ...     Image.new("RGB", (9, 9)).save(folder / name / "1.png")
    >>> items = load_folder(folder, size=8)
    >>> items.inputs.shape, items.class_names, items.ids
    (torch.Size([2, 3, 8, 8]), ('cat', 'dog'), ('cat/1.png', 'dog/1.png'))
    """
    return _without_empty_classes(list_files(Path(path), grouped).load(size, channels, strict))


def open_folder(path: Path, size: int, channels: Literal[1, 3], strict: bool, chunk: int) -> ItemStream:
    """The same a chunk at a time; a class of which no image can be read keeps its number."""
    return list_files(path).stream(size, channels, strict, chunk)


def list_files(path: Path, grouped: bool = False) -> ImageFiles:
    """The image files below a folder, not yet read."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; give the folder that holds the images.")
    ids = names_below(path, SUFFIXES)
    if not ids:
        raise InputError(f"{path} holds no image; its files should end in one of {', '.join(sorted(SUFFIXES))}.")
    return ImageFiles(ids, *classes_of(ids, levels=2 if grouped else 1), path)


def names_below(path: Path, suffixes: frozenset[str]) -> list[str]:
    """The files below a folder that end so, by their names relative to it, in order; a name must be text."""
    ids = list(_files(path, suffixes))
    odd = next((name for name in ids if not _is_text(name)), None)
    if odd is not None:
        raise InputError(f"{path / odd}: this name is not UTF-8 text, so that no table can hold it; rename the file.")
    return ids


def classes_of(ids: Sequence[str], levels: int = 1) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The class of each file, by the first folders on the way to it, and the names of the classes; -1 without one."""
    classes = ["/".join(name.split("/")[:-1][:levels]) for name in ids]
    names = tuple(sorted(set(classes) - {""}))
    number = {name: index for index, name in enumerate(names)} | {"": -1}
    return np.array([number[name] for name in classes]), names


def _files(
    folder: Path, suffixes: frozenset[str], within: str = "", above: frozenset[Path] = frozenset()
) -> Iterator[str]:
    """Names relative to the outermost folder: a million of them fit into memory, and as many Paths hardly do."""
    here = folder.resolve()
    if here in above:  # a link back to a folder that we are inside of
        return
    with os.scandir(folder) as entries:
        found = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    for name, is_folder in found:
        if is_folder:
            yield from _files(folder / name, suffixes, f"{within}{name}/", above | {here})
        elif PurePath(name).suffix.lower() in suffixes:
            yield within + name


def _is_text(name: str) -> bool:
    """Whether a file's name, which may be any bytes, is text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _without_empty_classes(items: Items) -> Items:
    used = torch.bincount(items.labels[items.labels >= 0], minlength=items.n_classes).nonzero().flatten()
    number = torch.full((items.n_classes + 1,), -1)  # the last entry is that of -1
    number[used] = torch.arange(len(used))
    names = tuple(items.class_names[index] for index in used.tolist())
    return replace(items, labels=number[items.labels], class_names=names)
