"""Networks for photos out of other libraries, each with the preprocessing that it was trained with.

    timm:NAME                    any network of the package timm
    torchvision:NAME             a classifier of torchvision without its last layer
    open_clip:MODEL/WEIGHTS      the image side of a CLIP network of the package open_clip_torch

Each takes `pretrained=False` for random weights, which tests use.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Pretrained, package, package_version
from likewise.errors import InputError


def load_timm(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    name = f"timm:{model}" if size is None else f"timm:{model}@{size}"
    timm = package("timm", name, "timm")
    try:
        network = timm.create_model(model, pretrained=pretrained, num_classes=0)
        config = timm.data.resolve_model_data_config(network)
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"timm cannot load {model!r} ({reason}); see timm.list_models(pretrained=True).") from error
    return photo_encoder(name, network, timm_form(config, size), version=package_version("timm"))


def timm_form(config: dict[str, object], size: int | None = None) -> PhotoForm:
    """The form that timm's own transform for evaluation has: the shorter side is size / crop_pct."""
    side = size or config["input_size"][-1]  # type: ignore[index]
    mode = config.get("crop_mode", "center")
    if mode not in ("center", "squash"):
        raise InputError(f"The crop mode {mode!r} of this network is not known; take another network.")
    return PhotoForm(
        size=int(side),
        resize=int(side / float(config["crop_pct"])),  # type: ignore[arg-type]
        mean=tuple(config["mean"]),  # type: ignore[arg-type]
        std=tuple(config["std"]),  # type: ignore[arg-type]
        interpolation=str(config["interpolation"]),
        squash=mode == "squash",
    )


def load_torchvision(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    name = f"torchvision:{model}" if size is None else f"torchvision:{model}@{size}"
    models = package("torchvision", name, "torchvision").models
    try:
        weights = models.get_model_weights(model).DEFAULT
        network = models.get_model(model, weights=weights if pretrained else None)
        form = torchvision_form(weights.transforms(), size)
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"torchvision cannot load {model!r} ({reason}); see torchvision.models.list_models()."
        ) from error
    return photo_encoder(name, without_last_layer(network, name), form, version=package_version("torchvision"))


def torchvision_form(transform: Any, size: int | None = None) -> PhotoForm:
    """The form of torchvision's ImageClassification preset."""
    crop, resize = transform.crop_size[0], transform.resize_size[0]
    side = size or crop
    return PhotoForm(
        size=side,
        resize=resize * side // crop,
        mean=tuple(transform.mean),
        std=tuple(transform.std),
        interpolation=transform.interpolation.value,
    )


def without_last_layer(network: nn.Module, name: str) -> nn.Module:
    """The network with nothing in the place of its last linear layer."""
    linear = [place for place, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    if not linear:
        raise InputError(f"{name} has no linear layer at its end; take a classifier.")
    network.set_submodule(linear[-1], nn.Identity())
    return network


def load_open_clip(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    name = f"open_clip:{model}"
    if size is not None:
        raise InputError(f"{name} has a size of its own; leave @{size} out.")
    open_clip = package("open_clip", name, "open_clip_torch")
    network_name, _, weights = model.partition("/")
    if pretrained and not weights:
        raise InputError(f"{name} names no weights; give open_clip:MODEL/WEIGHTS, as open_clip.list_pretrained() does.")
    try:
        network = open_clip.create_model(network_name, pretrained=weights if pretrained else None)
        form = open_clip_form(open_clip.get_model_preprocess_cfg(network))
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"open_clip cannot load {model!r} ({reason}); see open_clip.list_pretrained().") from error
    return photo_encoder(name, network.visual, form, version=package_version("open_clip_torch"))


def open_clip_form(config: dict[str, Any]) -> PhotoForm:
    """The form of open_clip's transform for inference."""
    mode = config.get("resize_mode", "shortest")
    if mode not in ("shortest", "squash"):
        raise InputError(f"The resize mode {mode!r} of this network is not known; take another network.")
    side = config["size"] if isinstance(config["size"], int) else config["size"][0]
    return PhotoForm(
        size=side,
        resize=side,
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        interpolation=config["interpolation"],
        squash=mode == "squash",
    )
