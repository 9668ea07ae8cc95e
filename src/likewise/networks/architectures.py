"""The networks of the paper, and two that also take feature vectors.

LeNet, VGG and pre-activation ResNets have batch-norm and the stem for small images; VGG has the paper's VGG8, and its
four-convolution network for Omniglot. MLP and the linear layer take feature vectors.
"""

from __future__ import annotations

import math

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


BLOCKS: dict[str, tuple[int, int, int, int]] = {  # residual blocks of each stage
    "resnet18": (2, 2, 2, 2),
    "resnet34": (3, 4, 6, 3),
    "resnet50": (3, 4, 6, 3),
    "resnet101": (3, 4, 23, 3),
}
BOTTLENECK = frozenset({"resnet50", "resnet101"})


class Block(nn.Module):
    """One residual block: batch-norm and ReLU stand before each convolution (He et al., 2016b, figure 4e).

    ``kernels`` (3, 3) is the basic block; (1, 3, 1) is the bottleneck, whose last convolution is four times as wide.
    """

    def __init__(self, channels_in: int, width: int, stride: int, kernels: tuple[int, ...]) -> None:
        super().__init__()
        channels_out = width * (4 if kernels == (1, 3, 1) else 1)
        widths = (channels_in, *[width] * (len(kernels) - 1), channels_out)
        strides = [1] * len(kernels)
        strides[kernels.index(3)] = stride  # the first 3x3 convolution moves by the stride
        self.norms = nn.ModuleList(nn.BatchNorm2d(w) for w in widths[:-1])
        self.convolutions = nn.ModuleList(
            nn.Conv2d(a, b, kernel, stride=step, padding=kernel // 2, bias=False)
            for a, b, kernel, step in zip(widths[:-1], widths[1:], kernels, strides, strict=True)
        )
        self.shortcut: nn.Conv2d | None = None
        if stride != 1 or channels_in != channels_out:
            self.shortcut = nn.Conv2d(channels_in, channels_out, kernel_size=1, stride=stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out = residual = x
        for position, (norm, convolution) in enumerate(zip(self.norms, self.convolutions, strict=True)):
            out = norm(out).relu_()
            if position == 0 and self.shortcut is not None:
                residual = self.shortcut(out)  # a projection starts from the activated input, the identity does not
            out = convolution(out)
        return out.add_(residual)


class PreActResNet(nn.Module):
    """Four stages of 64, 128, 256 and 512 channels after a 3x3 stem of stride 1; any image size and channel count.

    >>> import torch
    >>> PreActResNet(10, (1, 28, 28), (1, 1, 1, 1), bottleneck=False)(torch.zeros(2, 1, 28, 28)).shape
    torch.Size([2, 10])
    """

    def __init__(
        self, n_classes: int, input_shape: tuple[int, int, int], blocks: tuple[int, ...], *, bottleneck: bool
    ) -> None:
        super().__init__()
        kernels, growth = ((1, 3, 1), 4) if bottleneck else ((3, 3), 1)
        layers: list[nn.Module] = [nn.Conv2d(input_shape[0], 64, kernel_size=3, padding=1, bias=False)]
        channels = 64
        for stage, n_blocks in enumerate(blocks):
            width = 64 * 2**stage
            for position in range(n_blocks):
                stride = 2 if stage > 0 and position == 0 else 1
                layers += [Block(channels, width, stride, kernels)]
                channels = width * growth
        # The blocks end with a bare sum, so the network needs one more batch-norm and ReLU before the average
        # (He et al., 2016b, appendix); some implementations for CIFAR forget it.
        layers += [nn.BatchNorm2d(channels), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
        self.layers = nn.Sequential(*layers)
        self.n_features = channels
        self.last = nn.Linear(channels, n_classes)

    def features(self, x: Tensor) -> Tensor:
        out: Tensor = self.layers(x)  # (b, 512), or (b, 2048) with bottlenecks
        return out

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.last(self.features(x))  # (b, K)
        return logits


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
