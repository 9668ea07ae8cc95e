"""An encoder in an ONNX file, which the tests write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from PIL import Image

from likewise.encoders import load_encoder
from likewise.errors import InputError


def write(
    path: Path,
    shape: list[Any],
    kind: int = TensorProto.FLOAT,
    metadata: dict[str, str] | None = None,
    inputs: int = 1,
) -> Path:
    """A network that averages the pixels of each channel."""
    given = [helper.make_tensor_value_info(f"x{number}", kind, shape) for number in range(inputs)]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Cast", ["x0"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("GlobalAveragePool", ["cast"], ["y"]),
    ]
    model = helper.make_model(
        helper.make_graph(nodes, "mean", given, [out]), opset_imports=[helper.make_opsetid("", 17)]
    )
    model.ir_version = 8
    for key, value in (metadata or {}).items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
    return path


GREEN = [Image.new("RGB", (20, 10), (0, 255, 51))]


def test_float_pixels_are_normalised_and_bytes_are_not(tmp_path: Path) -> None:
    path = write(tmp_path / "float.onnx", ["batch", 3, 16, 16])
    encoder = load_encoder(f"onnx:{path}", unit_length=False, cache=False)
    expected = (np.array([0, 1, 0.2]) - (0.485, 0.456, 0.406)) / (0.229, 0.224, 0.225)
    np.testing.assert_allclose(encoder.transform(GREEN * 3), [expected] * 3, atol=1e-5)
    path = write(tmp_path / "bytes.onnx", ["batch", 3, "height", "width"], TensorProto.UINT8)
    found = load_encoder(f"onnx:{path}@32", unit_length=False, cache=False)
    np.testing.assert_allclose(found.transform(GREEN), [[0, 255, 51]], atol=1e-4)
    assert found.facts["preprocessing"]["size"] == 32


def test_the_file_may_say_how_photos_are_normalised(tmp_path: Path) -> None:
    form = {"size": 8, "resize": 8, "mean": [0, 0, 0], "std": [1, 1, 1], "interpolation": "bicubic"}
    path = write(tmp_path / "own.onnx", ["batch", 3, 8, 8], metadata={"likewise.photos": json.dumps(form)})
    encoder = load_encoder(f"onnx:{path}", unit_length=False, cache=False)
    np.testing.assert_allclose(encoder.transform(GREEN), [[0, 1, 0.2]], atol=1e-5)
    path = write(tmp_path / "odd.onnx", ["batch", 3, 8, 8], metadata={"likewise.photos": '{"side": 3}'})
    with pytest.raises(InputError, match=r"its metadata likewise\.photos is no form of photos"):
        load_encoder(f"onnx:{path}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shape": [4, 3, 8, 8]}, "takes batches of 4 alone; export the network again with a dynamic batch size"),
        ({"shape": ["batch", 4, 8, 8]}, "give a network of photos"),
        ({"shape": ["batch", 3, 8, 8], "kind": TensorProto.INT64}, r"takes tensor\(int64\) of shape"),
        ({"shape": ["batch", 3, 8, 9]}, "give a network of squares"),
        ({"shape": ["batch", 3, 8, 8], "inputs": 2}, "has the inputs x0, x1; give a network with one"),
    ],
)
def test_networks_that_cannot_be_used_are_refused(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_encoder(f"onnx:{write(tmp_path / 'net.onnx', **options)}")


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(b"no network")
    with pytest.raises(InputError, match="cannot be run as ONNX"):
        load_encoder(f"onnx:{tmp_path / 'net.onnx'}")
