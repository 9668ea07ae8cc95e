"""Contact sheets: small images embedded in the page, the most and the least certain of a class."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from typing import Protocol

import numpy as np
from PIL import Image

from likewise.errors import InputError

LARGEST_SIDE = 144  # pixels; larger images are reduced, as a thumbnail shows no more
LARGEST_EXACT_SIDE = 64  # larger images in colour are photos, which JPEG holds in a tenth of the space
SMALLEST_SMOOTH_SIDE = 48  # smaller images are enlarged as squares, not blurred
COLUMNS = 7  # thumbnails of each kind in the row of a class
MOST_CLASSES = 30  # rows of a gallery


class Pictures(Protocol):
    """The image (C, H, W) of each item, as bytes: an array, or anything that reads the few that are asked for."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> np.ndarray: ...


def check_pictures(images: Pictures | None, n: int) -> None:
    """Refuse images that are not those of `n` items."""
    if isinstance(images, np.ndarray) and (images.dtype != np.uint8 or images.ndim != 4 or len(images) != n):
        raise InputError(
            f"Images must be bytes of shape ({n}, channels, height, width), got {images.dtype} of shape {images.shape}."
        )
    if images is not None and len(images) != n:
        raise InputError(f"There must be an image for each of {n} items, got {len(images)} images.")


def image_uri(image: np.ndarray) -> str:
    """An image (C, H, W) of bytes, grey (C = 1) or RGB (C = 3), as a data URI: PNG, or JPEG for photos.

    >>> image_uri(np.zeros((1, 8, 8), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    if image.dtype != np.uint8 or image.ndim != 3 or len(image) not in (1, 3, 4):
        raise InputError(
            f"An image must be bytes of shape (1 or 3, height, width), got {image.dtype} of shape {image.shape}."
        )
    pixels = image[0] if len(image) == 1 else np.moveaxis(image[:3], 0, -1)  # (H, W) or (H, W, 3)
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    photo = picture.mode == "RGB" and max(picture.size) > LARGEST_EXACT_SIDE
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    stream, form = io.BytesIO(), "jpeg" if photo else "png"
    picture.save(stream, format=form, optimize=True, **({"quality": 85} if photo else {}))
    return f"data:image/{form};base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def thumbnail(image: np.ndarray, description: str) -> str:
    """One image of a sheet; the description is read out and shown under the pointer."""
    pixels = " pixels" if max(image.shape[1:]) < SMALLEST_SMOOTH_SIDE else ""
    text = escape(description)
    return f'<img class="thumb{pixels}" src="{image_uri(image)}" alt="{text}" title="{text}">'


def most_and_least_certain(members: np.ndarray, certainty: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Up to `n` positions of each kind, most certain first and least certain first; no item is in both.

    >>> most_and_least_certain(np.array([0, 2, 3]), np.array([0.5, 0.9, 0.7, 0.8]), 2)
    ([3, 2], [0])
    """
    falling = members[np.argsort(-certainty[members], kind="stable")].tolist()
    n_most = min(n, (len(falling) + 1) // 2)
    return falling[:n_most], falling[n_most:][::-1][:n]


def found_class(name: str, notes: Iterable[str], most: Sequence[str], least: Sequence[str]) -> str:
    """The row of one class: its name, a line for each note, and the list items of both kinds, which are HTML."""
    sheets = "".join(
        f'<div><h4>{title}</h4><ul class="sheet" style="--columns:{COLUMNS}">{"".join(entries)}</ul></div>'
        for title, entries in (("Most certain", most), ("Least certain", least))
        if entries
    )
    about = "<br>".join(escape(note) for note in notes)
    return f'<div class="found"><div><h3>{escape(name)}</h3><p>{about}</p></div>{sheets}</div>'
