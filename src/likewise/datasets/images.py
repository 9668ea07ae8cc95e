"""Image files and folders of them: decoded and resized to squares of bytes, a chunk at a time or all into memory.

Among the folders is ImageNet in the split of Vinyals et al. (2016): 882 classes to learn from, and 118 whose names are
in a file here. Its training images are looked for as `imagenet/train/n01440764/*.JPEG` under LIKEWISE_DATA, and stay
on disk.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path, PurePath
from typing import BinaryIO, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from likewise.datasets.items import Items, ItemStream, collect
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError

FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # Pillow knows others, and one that starts a program
DEEP = ("I", "F")  # modes of grey pictures with more than 8 bits: I;16, I;16B, I (of 32 bits), F
LARGEST_SIDE = 4096  # that pictures can be brought to
SUFFIXES = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm", ".pgm"))


_opening = threading.Lock()  # Python's list of warning filters is one for all threads


class UnreadableImage(Exception):
    """Not an image, or a damaged one; the text says what the decoder met."""


def read_image(file: Path | BinaryIO, size: int, channels: Literal[1, 3]) -> NDArray[np.uint8]:
    """The picture as (channels, size, size): grey or RGB, upright, transparent parts white, squeezed to a square."""
    plain = read_picture(file, "L" if channels == 1 else "RGB", 2 * size)
    pixels = np.asarray(plain.resize((size, size), Image.Resampling.BILINEAR))
    return np.ascontiguousarray(pixels.reshape(size, size, channels).transpose(2, 0, 1))


def read_picture(file: Path | BinaryIO, mode: Literal["L", "RGB"], enough: int) -> Image.Image:
    """The whole picture, upright, transparent parts white; a large JPEG may come smaller, but no side below `enough`.

    Whole numbers of more than 8 bits are taken to be from 0 to 65,535 and become bytes by division by 257; floats are
    taken to be from 0 to 1 and become bytes by multiplication with 255. A picture with other values is refused.
    An image of more than `PIL.Image.MAX_IMAGE_PIXELS` is not decoded: it may be small on disk and fill the memory.
    """
    try:
        with _opening, warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)  # raised while only the header is read
            image = Image.open(file, formats=FORMATS)
        with image as opened:
            opened.draft(opened.mode, (enough, enough))  # a large JPEG is decoded small, many times faster
            upright = ImageOps.exif_transpose(opened)
            if upright.mode.startswith(DEEP):
                upright = _in_bytes(upright)
            if "A" in upright.getbands() or "transparency" in upright.info:
                coloured = upright.convert("RGBA")
                upright = Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured)
            return upright.convert(mode)
    except UnidentifiedImageError as error:  # its own words show the address of an object
        raise UnreadableImage("this is no image of a known format") from error
    except Exception as error:  # Pillow's decoders raise whatever they meet: OSError, SyntaxError, struct.error, ...
        raise UnreadableImage(str(error) or type(error).__name__) from error


def _in_bytes(image: Image.Image) -> Image.Image:
    """A grey picture of 16 bits, or of floats, as bytes: Pillow itself would cut off what is above 255."""
    values = np.asarray(image)
    most = 1 if image.mode == "F" else 65535
    low, high = values.min(), values.max()
    if not (low >= 0 and high <= most):
        kind = "floats" if image.mode == "F" else "whole numbers"
        raise ValueError(f"its {kind} are from {low:g} to {high:g}; save it with values from 0 to {most}, or as bytes")
    if image.mode == "F":
        pixels = (values * 255).round().astype(np.uint8)
    else:
        pixels = ((values.astype(np.int32) + 128) // 257).astype(np.uint8)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        pixels[values == clear] = 255
    return Image.fromarray(pixels)


# Image files, given by their paths: read a chunk at a time, or all into memory.

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


# A folder of images: sub-folders are classes, files that lie flat have no label.


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
        raise InputError(f"{path / odd}: this name is not UTF-8 text, so no table can hold it; rename the file.")
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
    resolved = folder.resolve()
    if resolved in above:  # a link back to a folder that we are inside of
        return
    with os.scandir(folder) as entries:
        listing = sorted((entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith("."))
    for name, is_folder in listing:
        if is_folder:
            yield from _files(folder / name, suffixes, f"{within}{name}/", above | {resolved})
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


def unlabelled_classes() -> tuple[str, ...]:
    """The 118 classes that are taken as unlabelled, by their WordNet ids.

    >>> len(unlabelled_classes()), unlabelled_classes()[0]
    (118, 'n01498041')
    """
    return tuple((resources.files("likewise.datasets") / "imagenet118.txt").read_text(encoding="utf-8").split())


def list_imagenet(
    data: Path | str | None = None, unlabelled: tuple[str, ...] | None = None
) -> tuple[ImageFiles, ImageFiles]:
    """The files of the classes that are known, and of those that are not (by default the 118)."""
    folder = find("imagenet", ("train",), data)
    if folder is None:
        raise InputError(
            f"imagenet/train is not in {data_folder(data)}; put a folder for each class there, as ImageNet's "
            "training images come, or set LIKEWISE_DATA."
        )
    files = list_files(folder)
    chosen = set(unlabelled_classes() if unlabelled is None else unlabelled)
    missing = sorted(chosen - set(files.class_names))
    if missing:
        raise InputError(f"{folder} has no class {missing[0]} (and {len(missing) - 1} more are missing).")
    apart = [number for number, name in enumerate(files.class_names) if name in chosen]
    known = [number for number, name in enumerate(files.class_names) if name not in chosen]
    if len(known) < 2:
        raise InputError(f"{folder} has {len(known)} classes besides the unlabelled ones; at least two are needed.")
    return of_classes(files, known), of_classes(files, apart)


def of_classes(files: ImageFiles, classes: list[int]) -> ImageFiles:
    """The files of some classes, which are renumbered."""
    number = np.full(len(files.class_names), -1)
    number[classes] = np.arange(len(classes))
    rows = np.flatnonzero(np.isin(files.labels, classes))
    names = tuple(files.class_names[one] for one in classes)
    return ImageFiles([files.ids[row] for row in rows.tolist()], number[files.labels[rows]], names, files.folder)


def random_classes(files: ImageFiles, n_classes: int, subset: int) -> ImageFiles:
    """The files of `n_classes` classes at random; which they are depends on the number of the subset alone."""
    if n_classes > len(files.class_names):
        raise InputError(f"There are {len(files.class_names)} unlabelled classes, but {n_classes} were asked for.")
    drawn = np.random.default_rng(subset).permutation(len(files.class_names))[:n_classes]
    return of_classes(files, sorted(drawn.tolist()))
