"""onnx:FILE: an ONNX network of one's own, run by onnxruntime: photos as pixels in, or texts as strings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.encoders.photos import IMAGENET_MEAN, IMAGENET_STD, PhotoForm, checked_width
from likewise.encoders.pretrained import Precision, Pretrained, package, package_version
from likewise.encoders.texts import plain_text
from likewise.errors import InputError

SIZE = 224  # pixels, where the file leaves them open
CROP = 0.875
FORM = "likewise.photos"  # the file's own metadata may say the form: JSON of `PhotoForm`


def load(file: str, size: int | None = None) -> Pretrained:
    """The file has one input: float or uint8 images (batch, 3, H, W), or strings (batch,); its first output is taken.

    Float images are normalised with ImageNet's mean and deviation, bytes are given as they are, unless the file's
    metadata say the form of photos under the key likewise.photos.
    """
    path = Path(file).expanduser()
    name = f"onnx:{path}" if size is None else f"onnx:{path}@{size}"
    onnxruntime = package("onnxruntime", name, "'likewise[onnx]'")
    if not path.is_file():
        raise InputError(f"{path} does not exist; give onnx: the path of an ONNX file.")
    content = path.read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        if not session.get_inputs():
            raise ValueError("it has no input")
        node = session.get_inputs()[0]
    except Exception as error:  # their errors have no other class in common
        raise InputError(f"{path} cannot be run as ONNX ({_reason(error)}); export the network again.") from error
    if len(session.get_inputs()) != 1:
        names = ", ".join(one.name for one in session.get_inputs())
        raise InputError(f"{path} has the inputs {names}; give a network with one, photos or strings.")
    if node.shape and isinstance(node.shape[0], int):
        raise InputError(
            f"{path} takes batches of {node.shape[0]} alone; export the network again with a dynamic batch size."
        )

    def run(items: NDArray[Any]) -> Tensor:
        try:
            out = session.run(None, {node.name: items})[0]
            return torch.from_numpy(np.asarray(out, dtype=np.float32)).flatten(1)
        except Exception as error:
            raise InputError(f"{path} cannot be run on a batch of {len(items)} ({_reason(error)}).") from error

    shared: dict[str, Any] = {
        "name": name,
        "version": package_version("onnxruntime"),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    if node.type == "tensor(string)" and len(node.shape) == 1:
        width = checked_width(name, run(np.array(["text"], dtype=object)))
        return Pretrained(
            **shared,
            takes="texts",
            width=width,
            preprocessing={},
            prepare=plain_text,
            compute=lambda texts, device, precision: run(np.array(list(texts), dtype=object)),
        )
    kinds = {"tensor(float)": np.float32, "tensor(uint8)": np.uint8}
    fits = node.type in kinds and len(node.shape) == 4
    if not fits or (isinstance(node.shape[1], int) and node.shape[1] != 3):
        raise InputError(
            f"{path} takes {node.type} of shape {node.shape}; give a network of photos, float or uint8 "
            "(batch, 3, height, width), or of strings (batch,)."
        )
    sides = {side for side in node.shape[2:] if isinstance(side, int)}
    if len(sides) > 1 or (size and sides - {size}):
        raise InputError(f"{path} takes photos of {node.shape[2:]} pixels; give a network of squares of that size.")
    form = _form(session, path, size or next(iter(sides), SIZE), kinds[node.type] is np.uint8)
    mean, std = (np.array(values, np.float32).reshape(1, 3, 1, 1) for values in (form.mean, form.std))

    def compute(prepared: Sequence[NDArray[np.uint8]], device: torch.device, precision: Precision) -> Tensor:
        pixels = np.stack(prepared)
        return run(pixels if node.type == "tensor(uint8)" else (pixels / np.float32(255) - mean) / std)

    width = checked_width(
        name, compute([np.zeros((3, form.size, form.size), np.uint8)], torch.device("cpu"), "float32")
    )
    return Pretrained(
        **shared, takes="photos", width=width, preprocessing=form.facts, prepare=form.prepare, compute=compute
    )


def _form(session: Any, path: Path, size: int, in_bytes: bool) -> PhotoForm:
    metadata = session.get_modelmeta().custom_metadata_map.get(FORM)
    if metadata is None:
        mean, std = ((0.0,) * 3, (1 / 255,) * 3) if in_bytes else (IMAGENET_MEAN, IMAGENET_STD)
        return PhotoForm(size, int(size / CROP), mean, std)
    try:
        known = json.loads(metadata)
        return PhotoForm(**known | {name: tuple(known[name]) for name in ("mean", "std") if name in known})
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: its metadata {FORM} is no form of photos ({error}).") from error


def _reason(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
