"""A folder of images: sub-folders are classes, files that lie flat have no label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from likewise.datasets.chunks import ItemStream
from likewise.datasets.image_files import ImageFiles
from likewise.datasets.images import SUFFIXES
from likewise.datasets.items import Items
from likewise.errors import InputError


def load_folder(path: Path | str, *, size: int = 32, channels: Literal[1, 3] = 3, strict: bool = False) -> Items:
    """All images below the folder, in the order of their names, each resized to `size` x `size`.

    The first folder on the way to a file is its class, however deep the file lies; files in `path` itself are
    labelled -1. The ids are the paths relative to `path`. Hidden files and folders are passed over. Images that cannot
    be read are left out with one warning, or, with `strict`, are an InputError.
    """
    return _without_empty_classes(_list_files(Path(path)).load(size, channels, strict))


def open_folder(path: Path, size: int, channels: Literal[1, 3], strict: bool, chunk: int) -> ItemStream:
    """The same a chunk at a time; a class of which no image can be read keeps its number."""
    return _list_files(path).stream(size, channels, strict, chunk)


def _list_files(path: Path) -> ImageFiles:
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; give the folder that holds the images.")
    files = list(_image_files(path))
    if not files:
        raise InputError(f"{path} holds no image; its files should end in one of {', '.join(sorted(SUFFIXES))}.")
    relative = [file.relative_to(path) for file in files]
    classes = [file.parts[0] if len(file.parts) > 1 else "" for file in relative]
    names = tuple(sorted(set(classes) - {""}))
    number = {name: index for index, name in enumerate(names)} | {"": -1}
    return ImageFiles(files, [file.as_posix() for file in relative], [number[name] for name in classes], names, path)


def _image_files(folder: Path, above: frozenset[Path] = frozenset()) -> Iterator[Path]:
    here = folder.resolve()
    if here in above:  # a link back to a folder that we are inside of
        return
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _image_files(entry, above | {here})
        elif entry.suffix.lower() in SUFFIXES:
            yield entry


def _without_empty_classes(items: Items) -> Items:
    used = torch.bincount(items.labels[items.labels >= 0], minlength=items.n_classes).nonzero().flatten()
    number = torch.full((items.n_classes + 1,), -1)  # the last entry is that of -1
    number[used] = torch.arange(len(used))
    names = tuple(items.class_names[index] for index in used.tolist())
    return replace(items, labels=number[items.labels], class_names=names)
