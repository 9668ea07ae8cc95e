"""Pre-activation residual networks of 18, 34, 50 and 101 layers, with the stem for small images."""

from __future__ import annotations

from torch import Tensor, nn

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
