"""EfficientNet-lite0 by onnxruntime: the same features to 1e-5, in half of torch's time on a CPU.

The graph is written here, layer by layer, from the torch network: nothing is exported, and no file is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from likewise.encoders.packages import is_installed
from likewise.networks.efficientnet_lite import EfficientNetLite0

TOGETHER = 4  # photos; the maps of more do not stay in the processor's cache
OPSET, IR_VERSION = 17, 8

Run = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


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
