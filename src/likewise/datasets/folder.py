"""A folder of images: sub-folders are classes, files that lie flat have no label."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from likewise.datasets.images import SUFFIXES, UnreadableImage, read_image
from likewise.datasets.items import Items
from likewise.errors import InputError


def load_folder(path: Path | str, *, size: int = 32, channels: Literal[1, 3] = 3, strict: bool = False) -> Items:
    """All images below the folder, in the order of their names, each resized to `size` x `size`.

    The first folder on the way to a file is its class, however deep the file lies; files in `path` itself are
    labelled -1. The ids are the paths relative to `path`. Hidden files and folders are passed over. Images that cannot
    be read are left out with one warning, or, with `strict`, are an InputError.
    """
    path = Path(path)
    if not path.is_dir():
        raise InputError(f"{path} is not a folder; give the folder that holds the images.")
    files = list(_image_files(path))
    if not files:
        raise InputError(f"{path} holds no image; its files should end in one of {', '.join(sorted(SUFFIXES))}.")

    images = np.empty((len(files), channels, size, size), dtype=np.uint8)
    read: list[Path] = []
    broken: list[str] = []
    for file in files:
        try:
            images[len(read)] = read_image(file, size, channels)
            read.append(file.relative_to(path))
        except UnreadableImage as error:
            broken.append(f"{file} ({error})")
    if broken:
        _complain(path, broken, len(files), strict)

    folders = [file.parts[0] if len(file.parts) > 1 else "" for file in read]
    names = tuple(sorted(set(folders) - {""}))
    number = {name: index for index, name in enumerate(names)} | {"": -1}
    labels = torch.tensor([number[folder] for folder in folders], dtype=torch.int64)
    return Items(torch.from_numpy(images[: len(read)]), labels, names, tuple(file.as_posix() for file in read))


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


def _complain(path: Path, broken: list[str], n_files: int, strict: bool) -> None:
    what = f"{len(broken)} of the {n_files} images in {path} cannot be read, the first is {broken[0]}"
    if strict:
        raise InputError(f"{what}; replace or delete them, or leave strict out to skip them.")
    if len(broken) == n_files:
        raise InputError(f"{what}; give a folder of sound images.")
    warnings.warn(f"{what}; they are left out.", stacklevel=3)
