"""Drawings: what EfficientNet-lite0 sees of a picture, beside the directions of the strokes in each part of it.

    h_ck = sqrt(mean over the pixels of cell c of  |g| max(0, cos(2 angle(g) - 2 pi k / K))^2),     g the gradient

EfficientNet-lite0 has learned photographs, and lines are strange to it. Histograms of the directions of gradients
(Dalal and Triggs, 2005) see nothing but lines. Each of the two has length 1. The whole picture is seen, up to its edge.
"""

from __future__ import annotations

import hashlib
import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import avg_pool2d, normalize, relu

from likewise.encoders import lite0
from likewise.encoders.photos import PhotoForm, Run, photo_encoder
from likewise.encoders.pretrained import Pretrained, package_version

NAME = "drawings"
SIZE = 160  # pixels
DIRECTIONS = 8
SHRINK = 3  # pixels become one, on each side
CELL, STEP = 12, 7  # of the shrunken picture: the side of a cell, and from one cell to the next
FAINT = 1e-8  # below it a squared gradient has no direction


class StrokeDirections(nn.Module):
    """Images (b, 3, H, W) to histograms (b, 8 x cells) of length 1.

    >>> upright = torch.zeros(1, 3, 160, 160)
    >>> upright[..., 75:85] = 1.0
    >>> cells = StrokeDirections()(upright).view(8, -1).sum(1)
    >>> int(cells.argmax()), bool(cells[4] < 1e-2)  # the gradient lies across the stroke
    (0, True)
    """

    def forward(self, x: Tensor) -> Tensor:
        grey = avg_pool2d(x.mean(1, keepdim=True), SHRINK)
        for _ in range(2):  # a stroke is wider than one pixel
            grey = avg_pool2d(grey, 3, 1, 1, count_include_pad=False)
        across = (grey[..., :, 2:] - grey[..., :, :-2])[..., 1:-1, :]
        down = (grey[..., 2:, :] - grey[..., :-2, :])[..., :, 1:-1]
        square = across**2 + down**2
        cos, sin = (
            (across**2 - down**2) / (square + FAINT),
            2 * across * down / (square + FAINT),
        )  # of the doubled angle
        k = torch.arange(DIRECTIONS, device=x.device) * (2 * math.pi / DIRECTIONS)
        near = relu(cos * k.cos().view(1, -1, 1, 1) + sin * k.sin().view(1, -1, 1, 1))  # (b, 8, h, w)
        cells = avg_pool2d((square + FAINT).sqrt() * near**2, CELL, STEP)
        return normalize(cells.flatten(1).sqrt())


class DrawingNetwork(nn.Module):
    """Normalised images (b, 3, 160, 160) to features (b, 1568)."""

    def __init__(self, eyes: lite0.EfficientNetLite0) -> None:
        super().__init__()
        self.eyes, self.strokes = eyes, StrokeDirections()

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([normalize(self.eyes(x)), self.strokes(x)], dim=1)


def runner(network: nn.Module, scale: Tensor, shift: Tensor) -> Run | None:
    """The same from bytes, with EfficientNet-lite0 by onnxruntime where that is installed."""
    assert isinstance(network, DrawingNetwork)
    see = lite0.lite0_runner(network.eyes, scale, shift)
    if see is None:
        return None

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        with torch.inference_mode():
            strokes = network.strokes(torch.from_numpy(pixels) * scale - shift)
            return np.asarray(torch.cat([normalize(torch.from_numpy(see(pixels))), strokes], dim=1).numpy())

    return run


def load() -> Pretrained:
    form = PhotoForm(SIZE, SIZE, lite0.MEAN, lite0.STD, "bicubic", "nearest")
    return photo_encoder(
        NAME,
        DrawingNetwork(lite0.load_network()),
        form,
        version=package_version(lite0.PACKAGE),
        sha256=hashlib.sha256(f"{NAME} 1 {lite0.SHA256}".encode()).hexdigest(),
        accelerate=runner,
    )
