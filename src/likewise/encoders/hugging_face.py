"""hf:NAME: a network that transformers or sentence-transformers loads by its name or from a folder."""

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
from likewise.encoders.photos import checked_width
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

PHOTO_SIGNS = ("image_size", "num_channels", "vision_config")  # of a configuration
Compute = Callable[[Sequence[str], torch.device, Precision], Tensor]
ENOUGH = 1024  # pixels of a photo's sides; a larger JPEG is decoded smaller


def load(model: str) -> Pretrained:
    """A network of photos where its configuration speaks of images, else one of texts."""
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
        given = network.get_image_features(pixel_values=pixels) if two_sided else network(pixel_values=pixels)
        pooled = given if isinstance(given, Tensor) else getattr(given, "pooler_output", None)
        out: Tensor = given.last_hidden_state.mean(1) if pooled is None else pooled
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
