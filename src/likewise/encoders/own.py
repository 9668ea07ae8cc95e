"""An encoder of one's own: an nn.Module on photos, or a function of a batch of items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Precision, Pretrained
from likewise.errors import InputError

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
