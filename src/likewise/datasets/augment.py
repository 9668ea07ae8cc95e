"""Batch augmentation and normalisation: a handful of tensor operations on the whole batch, no loop over images."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from likewise.datasets.items import in_pieces
from likewise.errors import InputError

WIDEST = 4 / 3  # proportions of a window


@dataclass(frozen=True)
class Augmentation:
    """Random changes to each image of a training batch: an affine map, then crops, then a flip.

    Every image draws its own parameters from the generator, so the same generator state gives the same result. What
    comes into view from outside an image is 0. `dataclasses.asdict` gives the JSON form, `Augmentation(**values)` reads
    it back.

    >>> images = torch.arange(2 * 16, dtype=torch.uint8).reshape(2, 1, 4, 4)
    >>> augment = Augmentation(crop_padding=1, flip=True)
    >>> once = augment(images, torch.Generator().manual_seed(0))
    >>> once.shape == images.shape, once.dtype, torch.equal(once, images)
    (True, torch.uint8, False)
    >>> torch.equal(once, augment(images, torch.Generator().manual_seed(0)))
    True
    """

    crop_padding: int = 0  # pad by so many pixels on each side, then crop to the old size anywhere
    flip: bool = False  # left to right, for half of the images
    degrees: float = 0.0  # rotation, up to so much either way
    translate: float = 0.0  # shift, up to this fraction of width and height either way
    scale: tuple[float, float] = (1.0, 1.0)  # magnification, between the two
    shear: float = 0.0  # degrees, up to so much either way
    area: tuple[float, float] = (1.0, 1.0)  # crop to a share of the area between the two, stretched to the old size

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", tuple(self.scale))  # a list when it comes from JSON
        object.__setattr__(self, "area", tuple(self.area))
        if self.crop_padding < 0 or self.degrees < 0:
            raise InputError(
                f"crop_padding and degrees must not be negative, got {self.crop_padding} and {self.degrees}."
            )
        if not 0 <= self.translate <= 1:
            raise InputError(f"translate must be a fraction between 0 and 1, got {self.translate}.")
        if not 0 <= self.shear < 90:
            raise InputError(f"shear must be at least 0 and below 90 degrees, got {self.shear}.")
        if len(self.scale) != 2 or not 0 < self.scale[0] <= self.scale[1] < math.inf:
            raise InputError(f"scale must be two positive numbers in order, got {self.scale}.")
        if len(self.area) != 2 or not 0 < self.area[0] <= self.area[1] <= 1:
            raise InputError(f"area must be two shares above 0 and up to 1 in order, got {self.area}.")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        if images.ndim != 4 or not (images.dtype == torch.uint8 or images.is_floating_point()):
            raise InputError(
                "Augmentation takes images, uint8 or float (b, C, H, W), "
                f"got {images.dtype} {tuple(images.shape)}; leave it out for feature vectors."
            )
        if not len(images):
            return images
        if self.degrees or self.translate or self.shear or self.scale != (1.0, 1.0):
            images = _transform(images, self._inverse_maps(images, generator))
        if self.area != (1.0, 1.0):
            images = _transform(images, self._windows(images, generator), outside="border")
        if self.crop_padding or self.flip:
            images = _crop_and_flip(images, self.crop_padding, self.flip, generator)
        return images

    def halved(self) -> Augmentation:
        """Half as strong, for views that are to be judged and not learned from; flips stay.

        >>> Augmentation(degrees=10, scale=(0.8, 1.2)).halved() == Augmentation(degrees=5.0, scale=(0.9, 1.1))
        True
        """
        return Augmentation(
            crop_padding=(self.crop_padding + 1) // 2,
            flip=self.flip,
            degrees=self.degrees / 2,
            translate=self.translate / 2,
            scale=((1 + self.scale[0]) / 2, (1 + self.scale[1]) / 2),
            shear=self.shear / 2,
            area=((1 + self.area[0]) / 2, (1 + self.area[1]) / 2),
        )

    def _inverse_maps(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """For each image the map from places in the output to places in the input, as `affine_grid` wants it.

        The image is scaled by s, sheared by the matrix [[1, tan(phi)], [0, 1]], turned by theta about its centre, and
        then shifted; the inverse undoes the same in the other order.
        """
        batch, _, height, width = images.shape
        draws = torch.rand(5, batch, generator=generator, device=generator.device).to(images.device)
        angle = (2 * draws[0] - 1) * math.radians(self.degrees)
        slope = torch.tan((2 * draws[1] - 1) * math.radians(self.shear))
        size = self.scale[0] + draws[2] * (self.scale[1] - self.scale[0])
        # affine_grid measures from -1 to 1, so a whole width is 2.
        shift = (2 * draws[3:] - 1) * (2 * self.translate)  # (2, b): x, y

        cos, sin = torch.cos(angle) / size, torch.sin(angle) / size
        aspect = height / width  # turning is by pixels, not by fractions of unequal sides
        xx, xy = cos + slope * sin, (sin - slope * cos) * aspect
        yx, yy = -sin / aspect, cos
        rows = [xx, xy, -(xx * shift[0] + xy * shift[1]), yx, yy, -(yx * shift[0] + yy * shift[1])]
        return torch.stack(rows, dim=1).view(batch, 2, 3)

    def _windows(self, images: Tensor, generator: torch.Generator) -> Tensor:
        """The same for a window of the image: its share of the area is drawn, then its proportions, between 3 : 4 and
        4 : 3 as far as such a window fits in, then its place.
        """
        draws = torch.rand(4, len(images), generator=generator, device=generator.device).to(images.device)
        area = self.area[0] + draws[0] * (self.area[1] - self.area[0])
        widest = torch.log((1 / area).clamp_max(WIDEST))  # of the logarithm of width : height, either way
        stretch = torch.exp((2 * draws[1] - 1) * widest / 2)
        width, height = area.sqrt() * stretch, area.sqrt() / stretch
        x, y = (2 * draws[2] - 1) * (1 - width), (2 * draws[3] - 1) * (1 - height)
        nothing = torch.zeros_like(area)
        return torch.stack([width, nothing, x, nothing, height, y], dim=1).view(-1, 2, 3)


def _transform(images: Tensor, inverse_maps: Tensor, outside: str = "zeros") -> Tensor:
    values = images.to(torch.promote_types(images.dtype, torch.float32))  # grid_sample knows no bytes
    grid = F.affine_grid(inverse_maps.to(values.dtype), list(images.shape), align_corners=False)
    moved = F.grid_sample(values, grid, mode="bilinear", padding_mode=outside, align_corners=False)
    if images.dtype == torch.uint8:
        moved = moved.round_().clamp_(0, 255)
    return moved.to(images.dtype)


def _crop_and_flip(images: Tensor, padding: int, flip: bool, generator: torch.Generator) -> Tensor:
    """One gather of whole rows: with flips it chooses between the padded batch and its mirror image.

    That is several times faster than a gather of pixels (one index per row, and the row is copied as a block), than a
    `where` over both batches, and than a loop over images.
    """
    batch, channels, height, width = images.shape
    device = images.device
    corners = torch.randint(2 * padding + 1, (2, batch), generator=generator, device=generator.device).to(device)
    sides = torch.randint(1 + flip, (batch,), generator=generator, device=generator.device).to(device)

    padded = images.new_zeros(1 + flip, batch, channels, height + 2 * padding, width + 2 * padding)
    inside = padded[..., padding : padding + height, padding : padding + width]
    inside[0] = images
    if flip:
        inside[1] = images.flip(3)

    number = torch.arange(batch, device=device) + sides * batch  # (b,) in the batch or in its mirror image
    plane = number[:, None] * channels + torch.arange(channels, device=device)  # (b, C)
    row = plane[:, :, None] * padded.shape[3] + corners[0][:, None, None] + torch.arange(height, device=device)
    start = row * padded.shape[4] + corners[1][:, None, None]  # (b, C, H): where each row of the output begins
    windows = padded.view(-1).unfold(0, width, 1)  # a view: the `width` values that begin at each place
    return windows.index_select(0, start.view(-1)).view(images.shape)


def normalise(inputs: Tensor, mean: Sequence[float], std: Sequence[float]) -> Tensor:
    """`(x - mean) / std` as float32; bytes are first scaled to [0, 1].

    One value per channel for images (b, C, H, W), one per column for features (b, d); empty `mean` and `std` leave the
    values as they are (bytes are still scaled).

    >>> normalise(torch.tensor([[[[0, 255]]]], dtype=torch.uint8), mean=(0.5,), std=(0.25,))
    tensor([[[[-2.,  2.]]]])
    >>> normalise(torch.tensor([[1.0, 20.0]]), mean=(1.0, 10.0), std=(1.0, 5.0))
    tensor([[0., 2.]])
    """
    if len(mean) != len(std):
        raise InputError(f"mean and std must be equally long, got {len(mean)} and {len(std)} values.")
    values = inputs.to(torch.float32, copy=True)
    unit = 255.0 if inputs.dtype == torch.uint8 else 1.0
    if not len(mean):
        return values.div_(unit) if unit != 1.0 else values
    if inputs.ndim < 2 or len(mean) != inputs.shape[1]:
        raise InputError(
            f"mean and std must have one value for each channel or column, got {len(mean)} "
            f"for inputs of shape {tuple(inputs.shape)}."
        )
    shape = (1, -1, *[1] * (inputs.ndim - 2))
    scale, offset = (each.to(inputs.device).view(shape) for each in _scale_and_offset(tuple(mean), tuple(std), unit))
    return values.mul_(scale).sub_(offset)


@functools.lru_cache(maxsize=8)  # a thousand columns take longer to convert than a batch of them to normalise
def _scale_and_offset(mean: tuple[float, ...], std: tuple[float, ...], unit: float) -> tuple[Tensor, Tensor]:
    """`x / unit` normalised is `x * scale - offset`."""
    if not all(value > 0 for value in std):
        raise InputError(f"std must be positive everywhere, got {min(std)}.")
    scale = torch.tensor(std, dtype=torch.float64).mul_(unit).reciprocal_()
    offset = torch.tensor(mean, dtype=torch.float64).mul_(unit).mul_(scale)
    return scale.float(), offset.float()


# What augmentation is to images: a little noise on feature vectors, so that two views of an item differ.
@dataclass(frozen=True)
class Jitter:
    """Adds Gaussian noise to each feature, as a multiple of its standard deviation.

    >>> jitter = Jitter(0.1, std=(1.0, 100.0))
    >>> jitter(torch.zeros(2, 2), torch.Generator().manual_seed(0)).abs().max(0).values
    tensor([0.2179, 5.6843])
    """

    strength: float
    std: tuple[float, ...]  # of each column

    def __call__(self, features: Tensor, generator: torch.Generator) -> Tensor:
        return features + torch.randn(features.shape, generator=generator) * self._scale

    @functools.cached_property
    def _scale(self) -> Tensor:
        return self.strength * torch.tensor(self.std)


# A strong augmentation of images: a gentle one, then other light, and a square cut out of each.

Augment = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class Strong:
    """Gives each image its own contrast, brightness and erased square, by tensor operations on the whole batch.

    >>> images = torch.full((2, 1, 8, 8), 200, dtype=torch.uint8)
    >>> changed = Strong(cutout=0.5)(images, torch.Generator().manual_seed(0))
    >>> changed.dtype, changed.unique(dim=0).shape[0]
    (torch.uint8, 2)
    """

    gentle: Augment | None = None  # comes first
    contrast: float = 0.5  # each image's is multiplied by 1 - contrast to 1 + contrast
    brightness: float = 0.2  # up to so much of the whole range is added or taken
    cutout: float = 0.5  # the side of the square that is blackened, as a share of the image's, at most

    def __post_init__(self) -> None:
        for name in ("contrast", "brightness", "cutout"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be between 0 and 1, got {getattr(self, name)}.")

    def __call__(self, images: Tensor, generator: torch.Generator) -> Tensor:
        if images.ndim != 4:
            raise InputError(f"Strong takes images (b, C, H, W), got shape {tuple(images.shape)}.")
        if self.gentle is not None:
            images = self.gentle(images, generator)
        draws = torch.rand(5, len(images), 1, 1, 1, generator=generator).to(images.device)
        full = 255.0 if images.dtype == torch.uint8 else 1.0
        values = images.to(torch.float32)
        middle = values.mean((1, 2, 3), keepdim=True)
        values = (values - middle) * (1 + self.contrast * (2 * draws[0] - 1)) + middle
        values += full * self.brightness * (2 * draws[1] - 1)
        values = values.clamp_(0, full) * ~self._squares(images, draws[2:])
        return values.round_().to(images.dtype) if images.dtype == torch.uint8 else values

    def _squares(self, images: Tensor, draws: Tensor) -> Tensor:
        """Where each image is cut, (b, 1, H, W): a square of random size about a random pixel."""
        height, width = images.shape[2:]
        half = draws[0] * self.cutout * min(height, width) / 2
        row = torch.arange(height, device=images.device).view(1, 1, -1, 1) + 0.5
        column = torch.arange(width, device=images.device).view(1, 1, 1, -1) + 0.5
        return ((row - draws[1] * height).abs() < half) & ((column - draws[2] * width).abs() < half)


# Mean and standard deviation of each channel or column, a piece at a time, for items in memory and on disk alike.

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


def channel_statistics(images: Tensor) -> Statistics:
    """Mean and deviation of each channel of uint8 images (n, C, H, W), for pixels in [0, 1]; 1 for a constant channel.

    >>> channel_statistics(torch.tensor([0, 255], dtype=torch.uint8).reshape(2, 1, 1, 1))
    ((0.5,), (0.5,))
    """
    levels = torch.arange(256, dtype=torch.float64) / 255
    counts = torch.zeros(images.shape[1], 256, dtype=torch.float64)
    for piece in in_pieces(images):  # all at once would be eight bytes a pixel
        for channel, pixels in enumerate(piece.unbind(1)):
            counts[channel] += torch.bincount(pixels.reshape(-1), minlength=256)
    means, stds = [], []
    for count in counts:
        share = count / count.sum()
        mean = (share * levels).sum()
        variance = (share * (levels - mean) ** 2).sum()
        means.append(float(mean))
        stds.append(float(variance.sqrt()) or 1.0)
    return tuple(means), tuple(stds)


def column_statistics(features: Tensor) -> Statistics:
    """Mean and deviation of each column of features (n, d), in float64; a deviation of 1 for a constant column.

    >>> column_statistics(torch.tensor([[1.0, 7.0], [3.0, 7.0]]))
    ((2.0, 7.0), (1.0, 1.0))
    """
    total = torch.zeros(features.shape[1], dtype=torch.float64)
    for piece in in_pieces(features):
        total += piece.to(torch.float64).sum(0)
    mean = total / len(features)
    squares = torch.zeros_like(mean)
    for piece in in_pieces(features):
        squares += piece.to(torch.float64).sub_(mean).square_().sum(0)
    std = (squares / len(features)).sqrt()
    return tuple(mean.tolist()), tuple(deviation or 1.0 for deviation in std.tolist())
