"""VGG with batch-norm for small images, the paper's VGG8, and its four-convolution network for Omniglot."""

from __future__ import annotations

from torch import Tensor, nn

# Channels of the 3x3 convolutions, one inner tuple for each max-pooling. The depth in a name counts the two hidden
# linear layers that VGG has for ImageNet and that, as usual for 32x32 images, are left out here: VGG11 is 8
# convolutions and the last linear layer. VGG8 is the paper's own: one convolution before each pooling.
STAGES: dict[str, tuple[tuple[int, ...], ...]] = {
    "vgg8": ((64,), (128,), (256,), (512,), (512,)),
    "vgg11": ((64,), (128,), (256, 256), (512, 512), (512, 512)),
    "vgg13": ((64, 64), (128, 128), (256, 256), (512, 512), (512, 512)),
    "vgg16": ((64, 64), (128, 128), (256, 256, 256), (512, 512, 512), (512, 512, 512)),
    "omniglot": ((64,), (128,), (256,), (256,)),
    "conv4-wide": ((64,), (128,), (256,), (256,)),  # the same without its hidden layer, for the similarity network
    "conv4": ((32,), (64,), (128,), (256,)),  # a third of its cost, and as many features
}


class VGG(nn.Module):
    """Stages of 3x3 convolutions, each ended by max-pooling (Simonyan & Zisserman, 2015; the paper's Section 5.2).

    The features are the flattened last stage. With ``hidden_layer`` a linear layer halves them before the last one, as
    the Omniglot network has it (Section 5.3). Sides must be at least 2 to the power of the number of stages.

    >>> import torch
    >>> VGG(10, (1, 28, 28), ((16,), (32, 32)))(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self,
        n_classes: int,
        input_shape: tuple[int, int, int],
        stages: tuple[tuple[int, ...], ...],
        *,
        hidden_layer: bool = False,
    ) -> None:
        super().__init__()
        channels, height, width = input_shape
        layers: list[nn.Module] = []
        for stage in stages:
            for position, channels_out in enumerate(stage, start=1):
                # No bias: batch-norm would subtract it again.
                layers += [nn.Conv2d(channels, channels_out, kernel_size=3, padding=1, bias=False)]
                layers += [nn.BatchNorm2d(channels_out)]
                if position == len(stage):
                    # Max-pooling commutes with ReLU (both keep order); first, it leaves ReLU a quarter of the memory.
                    layers += [nn.MaxPool2d(2)]
                layers += [nn.ReLU(inplace=True)]
                channels = channels_out
        layers += [nn.Flatten()]
        self.n_features = channels * (height >> len(stages)) * (width >> len(stages))
        if hidden_layer:
            half = self.n_features // 2
            layers += [nn.Linear(self.n_features, half, bias=False), nn.BatchNorm1d(half), nn.ReLU(inplace=True)]
            self.n_features = half
        self.layers = nn.Sequential(*layers)
        self.last = nn.Linear(self.n_features, n_classes)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)  # (b, n_features)
        return out

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.features(x))  # (b, K)
        return logits
