"""Networks of other libraries, each with the preprocessing that it was trained with.

    timm:NAME                    any network of the package timm
    torchvision:NAME             a classifier of torchvision without its last layer
    open_clip:MODEL/WEIGHTS      the image side of a CLIP network of the package open_clip_torch
    hf:NAME                      what transformers or sentence-transformers loads by its name or from a folder

The first three take `pretrained=False` for random weights, which tests use.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn

from likewise.datasets.images import UnreadableImage, read_picture
from likewise.encoders.photos import PhotoForm, checked_width, photo_encoder
from likewise.encoders.pretrained import (
    Precision,
    Pretrained,
    UnusableItem,
    is_installed,
    package,
    package_version,
    run_network,
    weights_sha256,
)
from likewise.encoders.texts import plain_text
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


PHOTO_SIGNS = ("image_size", "num_channels", "vision_config")  # of a configuration
Compute = Callable[[Sequence[str], torch.device, Precision], Tensor]
ENOUGH = 1024  # pixels of a photo's sides; a larger JPEG is decoded smaller


def load_hugging_face(model: str) -> Pretrained:
    """A network of photos where its configuration mentions images, else one of texts."""
    name = f"hf:{model}"
    transformers = package("transformers", name, "sentence-transformers")
    try:
        config = transformers.AutoConfig.from_pretrained(model)
        if any(getattr(config, sign, None) is not None for sign in PHOTO_SIGNS):
            return _of_photos(name, model, transformers)
        if is_installed("sentence_transformers"):
            return _of_sentences(name, model)
        return _of_tokens(name, model, transformers)
    except InputError:
        raise
    except Exception as error:  # an unknown name, no network, a damaged file: the packages raise whatever they meet
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{model!r} cannot be loaded ({reason}); give hf: the name or the folder of a model."
        ) from error


def _of_photos(name: str, model: str, transformers: Any) -> Pretrained:
    processor = transformers.AutoImageProcessor.from_pretrained(model)
    network = transformers.AutoModel.from_pretrained(model)
    pooled_network = _Pooled(network).eval().requires_grad_(False)

    def prepare(photo: bytes | Image.Image | NDArray[np.uint8]) -> NDArray[np.float32]:
        try:
            picture = read_picture(io.BytesIO(photo), "RGB", ENOUGH) if isinstance(photo, bytes) else photo
        except UnreadableImage as error:
            raise UnusableItem(str(error)) from error
        if isinstance(picture, np.ndarray):
            picture = Image.fromarray(
                np.ascontiguousarray(np.broadcast_to(picture, (3, *picture.shape[1:])).transpose(1, 2, 0))
            )
        pixels = processor(images=picture.convert("RGB"), return_tensors="pt")["pixel_values"][0]
        return np.asarray(pixels, dtype=np.float32)

    def compute(prepared: Sequence[NDArray[np.float32]], device: torch.device, precision: Precision) -> Tensor:
        return run_network(pooled_network, (torch.from_numpy(np.stack(prepared)),), device, precision)

    blank = prepare(Image.new("RGB", (64, 64)))
    return Pretrained(
        name=name,
        takes="photos",
        version=package_version("transformers"),
        sha256=weights_sha256(network),
        width=checked_width(name, compute([blank], torch.device("cpu"), "float32")),
        preprocessing={"processor": type(processor).__name__, "size": blank.shape[-1]},
        prepare=prepare,
        compute=compute,
    )


class _Pooled(nn.Module):
    """The image features of a two-sided network; else the pooled output; else the mean over the last layer."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: Tensor) -> Tensor:
        network: Any = self.network
        two_sided = hasattr(network, "get_image_features")
        outputs = network.get_image_features(pixel_values=pixels) if two_sided else network(pixel_values=pixels)
        pooled = outputs if isinstance(outputs, Tensor) else getattr(outputs, "pooler_output", None)
        out: Tensor = outputs.last_hidden_state.mean(1) if pooled is None else pooled
        return out.flatten(1)


def _of_sentences(name: str, model: str) -> Pretrained:
    sentence_transformers = package("sentence_transformers", name, "sentence-transformers")
    network = sentence_transformers.SentenceTransformer(model, device="cpu")

    def compute(texts: Sequence[str], device: torch.device, precision: Precision) -> Tensor:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bfloat16"):
            rows: Tensor = network.encode(
                list(texts), batch_size=len(texts), show_progress_bar=False, convert_to_tensor=True, device=str(device)
            )
        return rows.float().cpu()

    return _of_texts(name, network, compute, network.max_seq_length, package_version("sentence-transformers"))


def _of_tokens(name: str, model: str, transformers: Any) -> Pretrained:
    """Without sentence-transformers: the mean over the tokens of the last layer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    network = transformers.AutoModel.from_pretrained(model).eval().requires_grad_(False)

    def compute(texts: Sequence[str], device: torch.device, precision: Precision) -> Tensor:
        tokens = tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        mean = _MeanOfTokens(network)
        return run_network(mean, (tokens["input_ids"], tokens["attention_mask"]), device, precision)

    return _of_texts(name, network, compute, tokenizer.model_max_length, package_version("transformers"))


def _of_texts(name: str, network: nn.Module, compute: Compute, most_tokens: int, version: str) -> Pretrained:
    return Pretrained(
        name=name,
        takes="texts",
        version=version,
        sha256=weights_sha256(network),
        width=checked_width(name, compute(["text"], torch.device("cpu"), "float32")),
        preprocessing={"most_tokens": most_tokens},
        prepare=plain_text,
        compute=compute,
        length=len,
    )


class _MeanOfTokens(nn.Module):
    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        last = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
        counted = mask[:, :, None].to(last.dtype)
        mean: Tensor = (last * counted).sum(1) / counted.sum(1).clamp_min(1e-9)
        return mean
