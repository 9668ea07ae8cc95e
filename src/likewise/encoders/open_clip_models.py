"""open_clip:MODEL/WEIGHTS: the image side of a CLIP network of the package open_clip_torch."""

from __future__ import annotations

from typing import Any

from likewise.encoders.packages import package, package_version
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Pretrained
from likewise.errors import InputError


def load(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    """`pretrained=False` gives random weights, for tests."""
    name = f"open_clip:{model}"
    if size is not None:
        raise InputError(f"{name} has a size of its own; leave @{size} out.")
    open_clip = package("open_clip", name, "open_clip_torch")
    network_name, _, weights = model.partition("/")
    if pretrained and not weights:
        raise InputError(f"{name} names no weights; give open_clip:MODEL/WEIGHTS, as open_clip.list_pretrained() does.")
    try:
        network = open_clip.create_model(network_name, pretrained=weights if pretrained else None)
        form = form_of(open_clip.get_model_preprocess_cfg(network))
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"open_clip cannot load {model!r} ({reason}); see open_clip.list_pretrained().") from error
    return photo_encoder(name, network.visual, form, version=package_version("open_clip_torch"))


def form_of(config: dict[str, Any]) -> PhotoForm:
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
