"""What augmentation is to images: a little noise on feature vectors, so that two views of an item differ."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Jitter:
    """Gaussian noise on each feature, of so many times its standard deviation.

    >>> jitter = Jitter(0.1, std=(1.0, 100.0))
    >>> jitter(torch.zeros(2, 2), torch.Generator().manual_seed(0)).abs().max(0).values
    tensor([0.2179, 5.6843])
    """

    strength: float
    std: tuple[float, ...]  # of each column

    def __call__(self, features: Tensor, generator: torch.Generator) -> Tensor:
        noise = torch.randn(features.shape, generator=generator) * (self.strength * torch.tensor(self.std))
        return features + noise
