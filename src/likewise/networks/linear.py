"""One linear layer on the items as they are: logistic regression, where features come from a good encoder."""

from __future__ import annotations

import math

from torch import Tensor, nn


class Linear(nn.Module):
    """The features are the item itself; images are flattened to vectors.

    >>> import torch
    >>> Linear(10, (64,))(torch.zeros(2, 64)).shape
    torch.Size([2, 10])
    """

    def __init__(self, n_classes: int, input_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.n_features = math.prod(input_shape)
        self.last = nn.Linear(self.n_features, n_classes)

    def features(self, x: Tensor) -> Tensor:
        return x.flatten(1)  # (b, d)

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.features(x))  # (b, K)
        return logits
