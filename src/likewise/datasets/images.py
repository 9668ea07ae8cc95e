"""One image file, decoded and resized to a square of bytes."""

from __future__ import annotations

import threading
import warnings
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

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
    An image of more than `PIL.Image.MAX_IMAGE_PIXELS` is not decoded, for it may be small on disk and fill the memory.
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
