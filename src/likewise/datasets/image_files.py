"""Image files, given by their paths: read a chunk at a time, or all into memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.datasets.chunks import ItemStream, collect
from likewise.datasets.images import LARGEST_SIDE, UnreadableImage, read_image
from likewise.datasets.items import Items
from likewise.errors import InputError

CHUNK = 1024  # images read between two copies into the whole


@dataclass(frozen=True)
class ImageFiles:
    """Files that are not yet read; what is known of them before."""

    ids: Sequence[str]  # paths, relative to the folder where there is one
    labels: NDArray[np.int64]
    class_names: tuple[str, ...] = ()
    folder: Path | None = None

    def path(self, number: int) -> Path:
        return Path(self.ids[number]) if self.folder is None else self.folder / self.ids[number]

    def stream(self, size: int, channels: Literal[1, 3], strict: bool, chunk: int) -> ItemStream:
        """With `strict` the first image that cannot be read is an InputError, else `broken` of the stream names it."""
        if not 1 <= size <= LARGEST_SIDE:
            raise InputError(f"The side of images must be from 1 to {LARGEST_SIDE} pixels, got {size}.")

        def read(broken: list[str]) -> Iterator[Items]:
            for start in range(0, len(self.ids), chunk):
                items = self._read(range(start, min(start + chunk, len(self.ids))), size, channels, broken)
                if strict and broken:
                    raise InputError(
                        f"{broken[0]} cannot be read; replace or delete it, or leave strict out to skip it."
                    )
                if len(items):
                    yield items
            if len(broken) == len(self.ids):
                raise InputError(
                    f"{self._complaint(broken)}; give {'a folder of ' if self.folder else ''}sound images."
                )

        return ItemStream(len(self.ids), read, self.ids, channels * size * size)

    def load(self, size: int, channels: Literal[1, 3], strict: bool) -> Items:
        """All in memory; images that cannot be read are left out with one warning or, with `strict`, refused."""
        stream = self.stream(size, channels, False, CHUNK)
        items = collect(stream)
        if stream.broken:
            what = self._complaint(stream.broken)
            if strict:
                raise InputError(f"{what}; replace or delete them, or leave strict out to skip them.")
            warnings.warn(f"{what}; they are left out.", stacklevel=3)  # the caller of load_folder or load_images
        return items

    def _read(self, numbers: range, size: int, channels: Literal[1, 3], broken: list[str]) -> Items:
        images = np.empty((len(numbers), channels, size, size), dtype=np.uint8)
        kept: list[int] = []

        def read(number: int) -> NDArray[np.uint8] | UnreadableImage:
            try:
                return read_image(self.path(number), size, channels)
            except UnreadableImage as error:
                return error

        with ThreadPoolExecutor(os.cpu_count()) as pool:  # the decoders release Python's lock
            for number, image in zip(numbers, pool.map(read, numbers), strict=True):
                if isinstance(image, UnreadableImage):
                    broken.append(f"{self.path(number)} ({image})")
                else:
                    images[len(kept)] = image
                    kept.append(number)
        labels = torch.from_numpy(self.labels[kept])
        ids = tuple(self.ids[number] for number in kept)
        return Items(torch.from_numpy(images[: len(kept)]), labels, self.class_names, ids)

    def _complaint(self, broken: list[str]) -> str:
        where = f"in {self.folder}" if self.folder else "given"
        return f"{len(broken)} of the {len(self.ids)} images {where} cannot be read, the first is {broken[0]}"


def load_images(
    paths: Sequence[Path | str], *, size: int = 32, channels: Literal[1, 3] = 3, strict: bool = True
) -> Items:
    """The images at the paths, in their order, without labels; the ids are the paths as given.

    Images that cannot be read are an InputError or, without `strict`, are left out with one warning.

    >>> import tempfile
    >>> from PIL import Image
    >>> file = Path(tempfile.mkdtemp()) / "cat.png"
    >>> Image.new("RGB", (9, 9)).save(file)
    >>> load_images([file], size=8).inputs.shape
    torch.Size([1, 3, 8, 8])
    """
    if isinstance(paths, Path | str):
        raise InputError(
            f"load_images takes a list of paths, got {str(paths)!r}; put it into a list, or use load_items."
        )
    if not len(paths):
        raise InputError("The list of images is empty; give at least one path.")
    return ImageFiles([str(path) for path in paths], np.full(len(paths), -1)).load(size, channels, strict)
