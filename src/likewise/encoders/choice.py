"""Which encoder suits the items, where nobody has named one."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import IO, Any

import numpy as np
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from PIL import Image

from likewise.datasets.arrays import INPUT_KEYS
from likewise.datasets.images import FORMATS, SUFFIXES, names_below
from likewise.datasets.texts import SUFFIX as TEXT_SUFFIX
from likewise.encoders.names import PHOTO_ENCODER, photo_encoder_is_installed, text_encoder
from likewise.errors import InputError

LARGE = 64  # pixels of the shorter side, above which images are taken for photos
SAMPLE = 50  # files that are looked at
WITHOUT = (
    "These are photos, and without an encoder they are squeezed to small images and learned from nothing; "
    "pip install 'likewise[photos]' for far better classes from far fewer answers."
)


def choose_encoder(encoder: str, path: Path, text: Sequence[str] = ()) -> tuple[str | None, str]:
    """The name of the encoder for the items at a path, None for none, and what there is to say about it.

    "auto" is the encoder of photos for images whose shorter side is above 64 pixels, that of texts for texts, and none
    for small images and for numbers; "none" is none.
    """
    if encoder == "none":
        if text:
            raise InputError("--text needs an encoder, and --encoder is none; leave --encoder out, or name one.")
        return None, ""
    if encoder != "auto":
        return encoder, ""
    if text or holds_texts(path):
        return text_encoder(), ""
    if path.is_dir():
        names = names_below(path, SUFFIXES)
        if not are_photos(path / name for name in spread(names)):
            return None, ""
    elif not holds_large_images(path):
        return None, ""
    return (PHOTO_ENCODER, "") if photo_encoder_is_installed() else (None, WITHOUT)


def holds_texts(path: Path) -> bool:
    """Whether a folder has .txt files and no images."""
    return path.is_dir() and not names_below(path, SUFFIXES) and bool(names_below(path, TEXT_SUFFIX))


def holds_large_images(path: Path) -> bool:
    """Whether an .npy or .npz file holds images that are taken for photos."""
    if path.suffix.lower() not in (".npy", ".npz"):
        return False
    try:
        if path.suffix.lower() == ".npy":
            with path.open("rb") as file:
                return _is_large(_shape(file))
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.removesuffix(".npy") in INPUT_KEYS:
                    with archive.open(name) as member:
                        return _is_large(_shape(member))
    except Exception:  # who reads the items says what is wrong
        return False
    return False


def _shape(file: IO[bytes]) -> tuple[int, ...]:
    """What the header of an .npy says."""
    read_header = read_array_header_1_0 if read_magic(file) == (1, 0) else read_array_header_2_0
    shape: tuple[int, ...] = read_header(file)[0]
    return shape


def are_photos(items: Iterable[Any]) -> bool:
    """Whether most of the images, by path or as arrays (C, H, W), are large, and not of two colours as drawings are."""
    sides = []
    for item in items:
        if isinstance(item, np.ndarray):
            sides.append(min(item.shape[-2:]))
            continue
        try:
            with Image.open(item, formats=FORMATS) as opened:
                sides.append(0 if opened.mode == "1" else min(opened.size))
        except Exception:  # who reads the items says what is wrong with it
            continue
    return bool(sides) and median(sides) > LARGE


def spread(items: Sequence[Any], most: int = SAMPLE) -> list[Any]:
    """Some of the items, evenly spread.

    >>> spread("abcdefg", 3)
    ['a', 'c', 'e']
    """
    step = max(1, len(items) // most)
    return list(items[::step][:most])


def _is_large(shape: tuple[int, ...]) -> bool:
    if len(shape) == 3:
        return min(shape[1:]) > LARGE
    return len(shape) == 4 and sorted(shape[1:])[1] > LARGE  # the smallest are the channels
