"""torchvision:NAME: a classifier of torchvision without its last layer, with the transform of its weights."""

from __future__ import annotations

from typing import Any

from torch import nn

from likewise.encoders.packages import package, package_version
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Pretrained
from likewise.errors import InputError


def load(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    """`pretrained=False` gives random weights, for tests."""
    name = f"torchvision:{model}" if size is None else f"torchvision:{model}@{size}"
    models = package("torchvision", name, "torchvision").models
    try:
        weights = models.get_model_weights(model).DEFAULT
        network = models.get_model(model, weights=weights if pretrained else None)
        form = form_of(weights.transforms(), size)
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"torchvision cannot load {model!r} ({reason}); see torchvision.models.list_models()."
        ) from error
    return photo_encoder(name, without_last_layer(network, name), form, version=package_version("torchvision"))


def form_of(transform: Any, size: int | None = None) -> PhotoForm:
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
