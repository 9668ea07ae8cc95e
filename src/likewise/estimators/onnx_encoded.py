"""A classifier with its encoder inside, as one ONNX file: from pixels or token ids to probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.datasets import normalise, to_unit_length
from likewise.encoders import Encoder
from likewise.encoders.pretrained import run_network
from likewise.errors import InputError
from likewise.estimators.onnx_file import metadata, probabilities_of, twin_of, write_checked

CPU = torch.device("cpu")


def export_encoded_onnx(
    network: nn.Module,
    encoder: Encoder,
    path: Path | str,
    *,
    mean: Sequence[float],
    std: Sequence[float],
    outputs: Sequence[int],
    class_names: Sequence[str],
    batch_sizes: Sequence[int] = (1, 5),
) -> float:
    """Write encoder and network as an ONNX file, and return the largest difference of its probabilities from torch's.

    The input is `images`, uint8 (batch, 3, size, size), resized and cropped as the metadata `likewise.input` say; or
    `ids` and `mask`, int64 (batch, tokens), of the encoder's tokenizer. The output is as that of `export_onnx`.
    """
    pretrained = encoder.pretrained
    if pretrained.network is None:
        raise InputError(
            f"The encoder {pretrained.name} cannot be put into an ONNX file; write features with likewise encode, and "
            "fit to those."
        )
    seer, twin = twin_of(pretrained.network), twin_of(network)
    mean, std, kept = tuple(map(float, mean)), tuple(map(float, std)), [int(output) for output in outputs]
    inputs = _random_tokens if pretrained.takes == "texts" else _random_images
    size = int(pretrained.preprocessing["size" if pretrained.takes == "photos" else "most_tokens"])
    batches = [inputs(n, size) for n in batch_sizes]
    seen = [to_unit_length(run_network(seer, tuple(batch.values()), CPU, "float32")) for batch in batches]
    expected = [probabilities_of(twin, features, mean, std, kept) for features in seen]
    if pretrained.takes == "texts":
        kind = f"int64 token ids of {pretrained.name}, at most {size}, and 1 for each of them, 0 for padding"
        batch, tokens = torch.export.Dim("batch"), torch.export.Dim("tokens", min=2, max=size)
        dynamic = [{0: batch, 1: tokens}] * 2
        graph: nn.Module = _OfTexts(seer, twin, mean, std, kept)
    else:
        kind = f"uint8: photos in RGB, prepared so: {pretrained.preprocessing}"
        dynamic = [{0: torch.export.Dim("batch")}]
        graph = _OfPhotos(seer, twin, mean, std, kept)
    about = metadata(class_names, kind)
    return write_checked(Path(path), graph, inputs(3, size), batches, expected, about, dynamic)


class _Whole(nn.Module):
    """From what the encoder takes to the probabilities of the kept outputs."""

    def __init__(
        self, encoder: nn.Module, network: nn.Module, mean: tuple[float, ...], std: tuple[float, ...], kept: list[int]
    ) -> None:
        super().__init__()
        self.encoder, self.network = encoder, network
        self.mean, self.std = mean, std
        self.outputs: Tensor
        self.register_buffer("outputs", torch.tensor(kept))

    def probabilities(self, features: Tensor) -> Tensor:
        logits: Tensor = self.network(normalise(to_unit_length(features), self.mean, self.std)).float()
        return logits.index_select(1, self.outputs).softmax(1)  # (b, K)


class _OfPhotos(_Whole):
    def forward(self, images: Tensor) -> Tensor:
        return self.probabilities(self.encoder(images))


class _OfTexts(_Whole):
    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.probabilities(self.encoder(ids, mask))


def _random_images(n: int, size: int) -> dict[str, Tensor]:
    generator = torch.Generator().manual_seed(n)
    return {"images": torch.randint(256, (n, 3, size, size), dtype=torch.uint8, generator=generator)}


def _random_tokens(n: int, most: int) -> dict[str, Tensor]:
    """Sequences of different lengths, padded with 0."""
    generator = torch.Generator().manual_seed(n)
    lengths = torch.randint(2, min(most, 20), (n, 1), generator=generator)
    mask = (torch.arange(int(lengths.max())) < lengths).long()
    return {"ids": torch.randint(1, 1000, tuple(mask.shape), generator=generator) * mask, "mask": mask}
