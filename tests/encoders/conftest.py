"""Small photos, and an encoder of made-up weights that counts what it computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from likewise.encoders.pretrained import Pretrained, UnusableItem


@pytest.fixture
def photos(tmp_path: Path) -> list[Path]:
    """Seven photos of different shapes, each of one colour."""
    folder = tmp_path / "photos"
    folder.mkdir()
    paths = []
    for number in range(7):
        path = folder / f"{number}.png"
        Image.new("RGB", (20 + number, 30), (30 * number, 0, 100)).save(path)
        paths.append(path)
    return paths


@pytest.fixture
def counting() -> Callable[..., Pretrained]:
    """An encoder of words to (length, number of vowels), and the batches it was given."""

    def make(computed: list[list[str]], by_length: bool = False) -> Pretrained:
        def prepare(word: str) -> str:
            if word == "bad":
                raise UnusableItem("it is bad")
            return word

        def compute(batch: Sequence[str], device: torch.device, precision: str) -> Tensor:
            computed.append(list(batch))
            return torch.tensor([[float(len(word)), sum(map(word.count, "aeiou"))] for word in batch])

        return Pretrained("words", "texts", "1", "abc", 2, {}, prepare, compute, len if by_length else None)

    return make


@pytest.fixture
def gradient() -> Image.Image:
    """A photo of 300 x 200 pixels in which every place looks different."""
    y, x = np.mgrid[0:200, 0:300]
    return Image.fromarray(np.stack([x * 255 // 299, y * 255 // 199, (x * y) % 256], -1).astype(np.uint8))
