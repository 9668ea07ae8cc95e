"""Mean and standard deviation of each channel, exact, without a floating-point copy of the images."""

from __future__ import annotations

import torch
from torch import Tensor


def channel_statistics(images: Tensor) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of uint8 images (n, C, H, W), for pixels scaled to [0, 1]; a channel of one value gets a deviation of 1.

    >>> channel_statistics(torch.tensor([0, 255], dtype=torch.uint8).reshape(2, 1, 1, 1))
    ((0.5,), (0.5,))
    """
    levels = torch.arange(256, dtype=torch.float64) / 255
    means, stds = [], []
    for channel in range(images.shape[1]):
        # One image at a time would be slow and all at once is eight bytes a pixel, so count in pieces.
        counts = torch.zeros(256, dtype=torch.float64)
        for piece in torch.split(images[:, channel], 1024):
            counts += torch.bincount(piece.reshape(-1), minlength=256)
        share = counts / counts.sum()
        mean = (share * levels).sum()
        variance = (share * (levels - mean) ** 2).sum()
        means.append(float(mean))
        stds.append(float(variance.sqrt()) or 1.0)
    return tuple(means), tuple(stds)
