"""Mean and standard deviation of each channel or column, a piece at a time, for items in memory and on disk alike."""

from __future__ import annotations

import torch
from torch import Tensor

from likewise.datasets.items import in_pieces

Statistics = tuple[tuple[float, ...], tuple[float, ...]]


def channel_statistics(images: Tensor) -> Statistics:
    """Of uint8 images (n, C, H, W), for pixels scaled to [0, 1], exact; a channel of one value gets a deviation of 1.

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
    """Of features (n, d), in float64; a column of one value gets a deviation of 1.

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
