"""LeNet with batch-norm: two convolutions and two linear layers, for small images such as digits."""

from __future__ import annotations

from torch import Tensor, nn


class LeNet(nn.Module):
    """20 and 50 channels of 5x5 convolutions, then 500 features (LeCun et al., 1998; the paper's Section 5.2).

    Any channel count; images of 4x4 and up, because each of the two poolings halves the sides.

    >>> import torch
    >>> LeNet(10, (1, 28, 28))(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(self, n_classes: int, input_shape: tuple[int, int, int]) -> None:
        super().__init__()
        channels, height, width = input_shape
        self.n_features = 500
        # A bias before batch-norm would be subtracted again with the mean, so there is none. Max-pooling commutes with
        # ReLU (both keep order): pooling first gives the same values and leaves ReLU a quarter of the memory to visit.
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 20, kernel_size=5, padding=2, bias=False),
            nn.BatchNorm2d(20),
            nn.MaxPool2d(2),
            nn.ReLU(inplace=True),
            nn.Conv2d(20, 50, kernel_size=5, padding=2, bias=False),
            nn.BatchNorm2d(50),
            nn.MaxPool2d(2),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(50 * (height // 4) * (width // 4), self.n_features, bias=False),
            nn.BatchNorm1d(self.n_features),
            nn.ReLU(inplace=True),
        )
        self.last = nn.Linear(self.n_features, n_classes)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)  # (b, 500)
        return out

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.features(x))  # (b, K)
        return logits
