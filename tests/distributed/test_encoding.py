"""Encoding in several processes: each computes a part, and all read the whole."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from likewise.encoders import Encoder
from likewise.encoders.pretrained import Pretrained
from likewise.encoders.stream import open_encoded

N = 7


def encode_a_share(folder: Path) -> tuple[list[int], torch.Tensor]:
    """How many photos this process has computed before it read them all and after, and all features."""
    computed = []

    def compute(batch: Sequence[Any], *_: Any) -> torch.Tensor:
        computed.append(len(batch))
        return torch.tensor([[float(pixels[0, 0, 0]), float(pixels.shape[2])] for pixels in batch])

    def prepare(content: bytes) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(content)))

    own = Pretrained("first pixel", "photos", "", "abc", 2, {}, prepare, compute)
    encoder = Encoder(own, unit_length=False, batch_size=2, cache=folder / "cache")
    stream = open_encoded(folder / "photos", encoder, chunk=2)
    stream.share_out()
    shared = sum(computed)
    rows = torch.cat([items.inputs for items in stream])
    return [shared, sum(computed) - shared], rows


def test_each_process_encodes_a_part(in_ranks: Callable[..., list[Any]], tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    for number in range(N):
        Image.new("RGB", (8, 8), (30 * number, 0, 0)).save(tmp_path / "photos" / f"{number}.png")
    (first, rows), (second, again) = in_ranks(2, encode_a_share, tmp_path)
    assert (first, second) == ([4, 0], [3, 0])
    assert rows[:, 0].tolist() == [30.0 * number for number in range(N)]
    assert torch.equal(rows, again)
