"""A multi-layer perceptron for feature vectors, and one linear layer, for features of a good encoder."""

from __future__ import annotations

import math

from torch import Tensor, nn


class MLP(nn.Module):
    """Hidden linear layers, each with batch-norm and ReLU; images are flattened to vectors.

    >>> import torch
    >>> MLP(10, (64,))(torch.zeros(2, 64)).shape
    torch.Size([2, 10])
    """

    def __init__(self, n_classes: int, input_shape: tuple[int, ...], hidden: tuple[int, ...] = (256, 256)) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Flatten()]
        width = math.prod(input_shape)
        for width_out in hidden:
            # No bias: batch-norm would subtract it again.
            layers += [nn.Linear(width, width_out, bias=False), nn.BatchNorm1d(width_out), nn.ReLU(inplace=True)]
            width = width_out
        self.layers = nn.Sequential(*layers)
        self.n_features = width
        self.last = nn.Linear(width, n_classes)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)  # (b, 256)
        return out

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.features(x))  # (b, K)
        return logits


# One linear layer on the items as they are: logistic regression, where features come from a good encoder.
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
