"""The pictures of items for a page: those in memory, or read from their files when the page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from likewise.cli.items import Given

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from likewise.reporting.gallery import Pictures

LARGEST_SIDE = 96  # pixels of a picture


def pictures_of(given: Given, path: Path) -> Pictures | None:
    if path.is_dir():
        return FilePictures(path, given.items.ids)
    inputs = given.items.inputs
    return ItemPictures(inputs) if inputs.ndim == 4 and inputs.shape[1] in (1, 3, 4) else None


@dataclass(frozen=True)
class ItemPictures:
    """Pictures as the network sees them, in memory or on disk."""

    inputs: Tensor

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, position: int) -> np.ndarray:
        picture: np.ndarray = self.inputs[position : position + 1].numpy()[0]
        return picture


@dataclass(frozen=True)
class FilePictures:
    """Pictures read from their files, larger than the network sees them, when the page shows them."""

    folder: Path
    ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, position: int) -> np.ndarray:
        from PIL import Image

        from likewise.datasets.images import FORMATS, read_image

        path = self.folder / self.ids[position]
        with Image.open(path, formats=FORMATS) as image:
            side = min(max(image.size), LARGEST_SIDE)
        return read_image(path, side, 3)
