"""Texts as a network of tokens takes them: cut into pieces of its vocabulary, padded to the longest of a batch."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from likewise.encoders.pretrained import Precision, Pretrained, UnusableItem, package, run_network, weights_sha256
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
