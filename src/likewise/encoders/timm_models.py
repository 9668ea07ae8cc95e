"""timm:NAME: any network of the package timm, with the preprocessing that its configuration names."""

from __future__ import annotations

from likewise.encoders.packages import package, package_version
from likewise.encoders.photos import PhotoForm, photo_encoder
from likewise.encoders.pretrained import Pretrained
from likewise.errors import InputError


def load(model: str, size: int | None = None, *, pretrained: bool = True) -> Pretrained:
    """`pretrained=False` gives random weights, for tests."""
    name = f"timm:{model}" if size is None else f"timm:{model}@{size}"
    timm = package("timm", name, "timm")
    try:
        network = timm.create_model(model, pretrained=pretrained, num_classes=0)
        config = timm.data.resolve_model_data_config(network)
    except Exception as error:  # an unknown name, weights that cannot be downloaded, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"timm cannot load {model!r} ({reason}); see timm.list_models(pretrained=True).") from error
    return photo_encoder(name, network, form_of(config, size), version=package_version("timm"))


def form_of(config: dict[str, object], size: int | None = None) -> PhotoForm:
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
