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

LARGEST_SIDE = 144  # pixels of a picture
LONGEST_TEXT = 200  # characters that are shown


def titles_of(given: Given) -> Sequence[str] | None:
    """How a page calls the items: by their ids, and texts by what they say; None where they have row numbers alone."""
    if given.texts is None:
        return given.items.ids or None
    ids = given.items.ids or [str(row) for row in range(len(given.items))]
    return [f"{name}: {_short(text)}" for name, text in zip(ids, given.texts, strict=True)]


def _short(text: str) -> str:
    """
    >>> _short("a  b"), len(_short("long " * 100))
    ('a b', 200)
    """
    words = " ".join(text.split())
    return words if len(words) <= LONGEST_TEXT else words[: LONGEST_TEXT - 3] + "..."


def pictures_of(given: Given, path: Path) -> Pictures | None:
    if given.texts is not None:
        return None
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
        import numpy as np

        from likewise.datasets.images import read_picture

        picture = read_picture(self.folder / self.ids[position], "RGB", 2 * LARGEST_SIDE)
        picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
        return np.asarray(picture).transpose(2, 0, 1)
