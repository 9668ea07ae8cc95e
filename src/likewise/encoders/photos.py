"""Photos as a pretrained network takes them: upright, in colour, resized, cropped in the middle, normalised."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from likewise.datasets.images import UnreadableImage, read_picture
from likewise.encoders.pretrained import Precision, Pretrained, UnusableItem, run_network, weights_sha256
from likewise.errors import InputError

FILTERS = {
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
    "nearest": Image.Resampling.NEAREST,
}
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
LARGEST_SIZE = 2048  # pixels
VIEWS = (  # where the crop lies, across and down, and whether it is flipped; the first is the photo as it is
    (0.5, 0.5, False),
    (0.5, 0.5, True),
    (0.0, 0.0, False),
    (1.0, 1.0, True),
    (1.0, 0.0, False),
    (0.0, 1.0, True),
    (0.0, 0.0, True),
    (1.0, 1.0, False),
    (1.0, 0.0, True),
    (0.0, 1.0, False),
)

Run = Callable[[NDArray[np.uint8]], NDArray[np.float32]]  # bytes (b, 3, H, W) to features (b, d)
Accelerate = Callable[[nn.Module, Tensor, Tensor], Run | None]  # a network after `pixels * scale - shift`


@dataclass(frozen=True)
class PhotoForm:
    """How a photo becomes the input of a network."""

    size: int  # the side of the square that is cut out of the middle
    resize: float  # the shorter side before that
    mean: tuple[float, ...] = IMAGENET_MEAN  # of channels from 0 to 1
    std: tuple[float, ...] = IMAGENET_STD
    interpolation: str = "bilinear"
    rounding: Literal["torchvision", "nearest"] = "torchvision"  # of the sides and of the place of the crop
    squash: bool = False  # whether both sides are resized, whatever the photo's shape

    def __post_init__(self) -> None:
        if not 1 <= self.size <= self.resize <= 2 * LARGEST_SIZE or self.size > LARGEST_SIZE:
            raise InputError(f"Photos can be encoded at 1 to {LARGEST_SIZE} pixels a side, not at {self.size}.")
        if self.interpolation not in FILTERS:
            raise InputError(f"The interpolation {self.interpolation!r} is none of {', '.join(FILTERS)}.")

    @property
    def facts(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    def prepare(self, photo: bytes | Image.Image | NDArray[np.uint8], view: int = 0) -> NDArray[np.uint8]:
        """The content of a file, a picture, or an array (C, H, W) as bytes (3, size, size), or a `view` of it."""
        try:
            picture = self._picture(photo)
        except UnreadableImage as error:
            raise UnusableItem(str(error)) from error
        width, height = picture.size
        shorter = max(width, height) if self.squash else min(width, height)  # what is below it becomes `resize`, too
        if self.rounding == "nearest":
            sides = [max(self.size, round(side * self.resize / shorter)) for side in (width, height)]
            left, top = ((side - self.size) // 2 for side in sides)
        else:  # the longer side is cut, and the place of the crop goes to the nearest even pixel
            sides = [int(self.resize) * max(side, shorter) // shorter for side in (width, height)]
            left, top = (round((side - self.size) / 2) for side in sides)
        across, down, flipped = VIEWS[view]
        left, top = round(2 * across * left), round(2 * down * top)
        box = (left, top, left + self.size, top + self.size)
        try:
            resized = picture.resize((sides[0], sides[1]), FILTERS[self.interpolation]).crop(box)
        except (ValueError, MemoryError) as error:  # a picture 100,000 times as long as wide
            raise UnusableItem(f"it is {width} x {height} pixels and cannot be resized") from error
        pixels = np.asarray(resized).transpose(2, 0, 1)
        return np.ascontiguousarray(pixels[:, :, ::-1] if flipped else pixels)

    def _picture(self, photo: bytes | Image.Image | NDArray[np.uint8]) -> Image.Image:
        if isinstance(photo, bytes):
            return read_picture(io.BytesIO(photo), "RGB", int(2 * self.resize))
        if isinstance(photo, Image.Image):
            return photo.convert("RGB")
        if photo.dtype != np.uint8 or photo.ndim != 3 or photo.shape[0] not in (1, 3):
            raise UnusableItem(f"it is {photo.dtype} of shape {photo.shape}, and a photo is uint8 (1 or 3, H, W)")
        pixels = np.repeat(photo, 3, axis=0) if photo.shape[0] == 1 else photo
        return Image.fromarray(np.ascontiguousarray(pixels.transpose(1, 2, 0)))


class PhotoNetwork(nn.Module):
    """Bytes (b, 3, size, size) to features (b, d): normalise, then the network; a map (b, d, h, w) is averaged."""

    def __init__(self, network: nn.Module, form: PhotoForm) -> None:
        super().__init__()
        self.network = network
        self.scale: Tensor
        self.shift: Tensor
        mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (form.mean, form.std))
        self.register_buffer("scale", 1 / (255 * std), persistent=False)
        self.register_buffer("shift", mean / std, persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        out: Tensor = self.network(pixels.float() * self.scale - self.shift)
        return out.mean((2, 3)) if out.ndim == 4 else out


def photo_encoder(
    name: str,
    network: nn.Module,
    form: PhotoForm,
    *,
    version: str,
    sha256: str = "",
    convolutional: bool = True,
    accelerate: Accelerate | None = None,
) -> Pretrained:
    """An encoder of photos from a network that takes normalised images (b, 3, size, size)."""
    module = PhotoNetwork(network, form).eval().requires_grad_(False)
    if convolutional:  # twice as fast on a CPU
        module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    fast = accelerate(network, module.scale, module.shift) if accelerate else None

    def compute(prepared: Sequence[NDArray[np.uint8]], device: torch.device, precision: Precision) -> Tensor:
        pixels = np.stack(prepared)
        if fast is not None and device.type == "cpu" and precision == "float32":
            return torch.from_numpy(fast(pixels))
        by_pixel = torch.from_numpy(pixels).contiguous(memory_format=torch.channels_last)
        return run_network(module, (by_pixel,), device, precision)

    blank = np.zeros((3, form.size, form.size), dtype=np.uint8)
    try:
        width = checked_width(name, compute([blank], torch.device("cpu"), "float32"))
    except InputError:
        raise
    except Exception as error:  # a network of somebody else's raises whatever it likes
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{name} cannot take photos of {form.size} x {form.size} pixels: {reason}") from error
    encoder: Pretrained = Pretrained(
        name=name,
        takes="photos",
        version=version,
        sha256=sha256 or weights_sha256(network),
        width=width,
        preprocessing=form.facts,
        prepare=form.prepare,
        compute=compute,
        network=module,
        with_network=lambda other: photo_encoder(
            name,
            cast(PhotoNetwork, other).network,
            form,
            version=version,
            convolutional=convolutional,
            accelerate=accelerate,
        ),
        view=lambda number: replace(
            encoder, prepare=partial(form.prepare, view=number), preprocessing=form.facts | {"view": number}
        ),
    )
    return encoder


def checked_width(name: str, features: Tensor) -> int:
    """How many features one item has, if they are a row of them."""
    if features.ndim != 2 or len(features) != 1 or features.shape[1] < 1:
        raise InputError(
            f"{name} gives {tuple(features.shape)} for one item; give an encoder whose output is (1, features)."
        )
    return int(features.shape[1])
