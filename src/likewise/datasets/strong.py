"""A strong augmentation of images: a gentle one, then other light, and a square cut out of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.errors import InputError

Augment = Callable[[Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class Strong:
    """Every image draws its own contrast, brightness and square; all are tensor operations on the whole batch.

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
