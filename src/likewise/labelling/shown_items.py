"""Items as the page shows them: pictures, texts or rows of a table, each with an opaque id that hides its path."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from likewise.datasets.images import UnreadableImage, read_picture
from likewise.errors import InputError

Form = Literal["image", "text", "row"]
WIDTHS = (64, 128, 256, 512, 1024, 2048)  # pixels; a picture is made in these alone, so that few are made
SMALL = 64  # pixels; smaller pictures stay as they are
MOST_FIELDS = 100  # columns of a row that are shown
LONGEST_TEXT = 20_000  # letters that are shown
KEPT = 512  # pictures that stay in memory, made ready to be sent


class ItemGone(Exception):
    """An item that was there when the page was started cannot be read now; the text is one sentence."""


class ShownItems(Protocol):
    """What the page can show of each item."""

    @property
    def form(self) -> Form: ...
    def __len__(self) -> int: ...
    def text(self, position: int) -> str | None: ...
    def fields(self, position: int) -> dict[str, float | str] | None: ...
    def picture(self, position: int, width: int) -> tuple[bytes, str]:
        """The picture and its media type."""
        ...

    def exists(self, position: int) -> bool: ...


def opaque_ids(names: Sequence[str]) -> list[str]:
    """An id for each name, the same whenever it is asked for.

    >>> opaque_ids(["cat.png"])
    ['b94f5ce0690dbe02']
    """
    ids = [hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16] for name in names]
    if len({*ids}) < len(ids):
        raise InputError("Two items have the same name; give each its own.")
    return ids


@dataclass(frozen=True)
class PictureFiles:
    """Pictures in files, which are read when they are shown."""

    folder: Path
    names: Sequence[str]
    form: Form = "image"

    def __len__(self) -> int:
        return len(self.names)

    def text(self, position: int) -> str | None:
        return None

    def fields(self, position: int) -> dict[str, float | str] | None:
        return None

    def exists(self, position: int) -> bool:
        return (self.folder / self.names[position]).is_file()

    def picture(self, position: int, width: int) -> tuple[bytes, str]:
        path = self.folder / self.names[position]
        try:
            return _read(path, path.stat().st_mtime_ns, width)
        except (OSError, UnreadableImage) as error:
            raise ItemGone(f"{self.names[position]} cannot be read any more; put it back, or go on.") from error


@lru_cache(KEPT)
def _read(path: Path, changed: int, width: int) -> tuple[bytes, str]:
    return encode_picture(read_picture(path, "RGB", width), width)


@dataclass(frozen=True, eq=False)
class PictureArray:
    """Pictures in an array (n, C, H, W) of bytes."""

    pixels: Any
    form: Form = "image"

    def __len__(self) -> int:
        return len(self.pixels)

    def text(self, position: int) -> str | None:
        return None

    def fields(self, position: int) -> dict[str, float | str] | None:
        return None

    def exists(self, position: int) -> bool:
        return True

    def picture(self, position: int, width: int) -> tuple[bytes, str]:
        pixels: NDArray[np.uint8] = np.asarray(self.pixels[position])
        plain = pixels[0] if len(pixels) in (1, 2) else np.moveaxis(pixels[:3], 0, -1)  # (H, W) or (H, W, 3)
        return encode_picture(Image.fromarray(np.ascontiguousarray(plain)), width)


def encode_picture(picture: Image.Image, width: int) -> tuple[bytes, str]:
    """A picture that is at most so wide, or the next of `WIDTHS`, encoded anew: nothing else of the file is sent."""
    most = next((each for each in WIDTHS if each >= width), WIDTHS[-1])
    picture.thumbnail((most, 2 * most))
    content, kind = io.BytesIO(), "png" if max(picture.size) <= SMALL else "jpeg"
    picture.save(content, format=kind, **({"quality": 88} if kind == "jpeg" else {}))
    return content.getvalue(), f"image/{kind}"


@dataclass(frozen=True)
class TextItems:
    texts: Sequence[str]
    form: Form = "text"

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, position: int) -> str | None:
        try:
            text = self.texts[position]
        except (OSError, InputError) as error:  # texts of files are read when they are shown
            raise ItemGone("A text cannot be read any more; put its file back, or go on.") from error
        return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"

    def fields(self, position: int) -> dict[str, float | str] | None:
        return None

    def exists(self, position: int) -> bool:
        try:
            return self.text(position) is not None
        except ItemGone:
            return False

    def picture(self, position: int, width: int) -> tuple[bytes, str]:
        raise ItemGone("A text has no picture; show the text.")


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a table, of which each column is a number."""

    columns: Sequence[str]  # none where they have no names
    values: Any  # (n, d)
    form: Form = "row"

    def __len__(self) -> int:
        return len(self.values)

    def text(self, position: int) -> str | None:
        return None

    def fields(self, position: int) -> dict[str, float | str] | None:
        row = self.values[position][:MOST_FIELDS].tolist()
        names = self.columns or [f"column {place}" for place in range(len(row))]
        shown: dict[str, float | str] = {name: float(f"{value:.6g}") for name, value in zip(names, row, strict=False)}
        if len(self.values[position]) > MOST_FIELDS:
            shown["more"] = f"{len(self.values[position]) - MOST_FIELDS:,} columns"
        return shown

    def exists(self, position: int) -> bool:
        return True

    def picture(self, position: int, width: int) -> tuple[bytes, str]:
        raise ItemGone("A row has no picture; show its fields.")
