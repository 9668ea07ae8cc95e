"""Items on a page: each as a picture or a text, in the classes that a model put them in, the most certain first."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from PIL import ExifTags, Image
from torch import Tensor

from likewise.datasets.images import FORMATS, read_image
from likewise.errors import InputError
from likewise.estimators.encoding import are_features
from likewise.estimators.inputs import are_images, are_on_disk, read_images
from likewise.evaluation.calibration import as_shares
from likewise.pairs import paths_of
from likewise.reporting.page import certainty, count

LARGEST_SIDE = 192  # pixels; larger pictures are reduced, as a page shows no more
SMALLEST_SMOOTH_SIDE = 48  # smaller pictures are enlarged as squares, not blurred
LONGEST_TEXT = 280  # letters


class Previews(Protocol):
    """What to show of each item: a picture (C, H, W) of bytes, or a text. Only those that are asked for are read."""

    def __len__(self) -> int: ...

    def __getitem__(self, position: int, /) -> np.ndarray | str: ...


@dataclass(frozen=True)
class Preview:
    """One item as a template shows it."""

    kind: Literal["pixels", "photo", "text"]
    description: str
    uri: str = ""  # of a picture
    text: str = ""

    @property
    def pixels(self) -> bool:
        return self.kind == "pixels"


@dataclass(frozen=True)
class TensorPreviews:
    """Images as the network takes them, in memory or on disk."""

    images: Tensor  # (n, C, H, W) of bytes

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, position: int) -> np.ndarray:
        image: np.ndarray = self.images[position : position + 1].numpy()[0]
        return image


@dataclass(frozen=True)
class FilePreviews:
    """Images read from their files when the page shows them, larger than the network takes them."""

    paths: Sequence[Path | str]
    folder: Path = Path()

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, position: int) -> np.ndarray:
        path = self.folder / self.paths[position]
        with Image.open(path, formats=FORMATS) as image:
            lies = image.getexif().get(ExifTags.Base.Orientation, 1) >= 5  # its sides change places when it is upright
            width, height = image.size[::-1] if lies else image.size
        longer = max(width, height)
        side = min(longer, LARGEST_SIDE)
        square = Image.fromarray(np.moveaxis(read_image(path, side, 3), 0, -1))  # and now its proportions
        return np.moveaxis(np.asarray(square.resize((-(-width * side // longer), -(-height * side // longer)))), -1, 0)


@dataclass(frozen=True)
class SomePreviews:
    """The previews of some items among all."""

    previews: Previews
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, position: int) -> np.ndarray | str:
        return self.previews[self.rows[position]]


def previews_of(X: Any) -> Previews | None:
    """The items themselves where they are images (in an array, in files or on disk) or texts; None for features."""
    paths = paths_of(X)
    if paths is not None:
        return FilePreviews(paths) if _is_file(paths[0]) else [str(text) for text in paths]
    if hasattr(X, "iloc") and not are_features(X):  # a DataFrame: its columns are parts of one text
        return ["\n".join(str(value) for value in row) for row in X.itertuples(index=False)]
    if not are_images(X):
        return None
    images = X if are_on_disk(X) else read_images(X, LARGEST_SIDE)
    return TensorPreviews(images) if images.shape[1] in (1, 3, 4) else None


def _is_file(name: Path | str) -> bool:
    try:
        return isinstance(name, Path) or Path(name).is_file()
    except (OSError, ValueError):  # too long for a name, or with signs that no name has
        return False


def check_previews(previews: Previews | None, n: int) -> None:
    """Refuse pictures that are not those of `n` items."""
    array = previews if isinstance(previews, np.ndarray) and previews.dtype.kind not in "OU" else None  # or texts
    if array is not None and (array.dtype != np.uint8 or array.ndim != 4 or len(array) != n):
        wanted = f"bytes of shape ({n}, channels, height, width)"
        raise InputError(f"Images must be {wanted}, got {array.dtype} of shape {array.shape}.")
    if previews is not None and len(previews) != n:
        raise InputError(f"There must be a preview for each of {n} items, got {len(previews)}.")


def preview(shown: np.ndarray | str, description: str) -> Preview:
    """
    >>> preview("Where is my card?", "q17")
    Preview(kind='text', description='q17', uri='', text='Where is my card?')
    """
    if isinstance(shown, str):
        shown = shown.strip()
        text = shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"
        return Preview("text", description, text=text)
    small = max(shown.shape[1:]) < SMALLEST_SMOOTH_SIDE
    return Preview("pixels" if small else "photo", description, uri=data_uri(shown))


def data_uri(image: np.ndarray) -> str:
    """An image (C, H, W) of bytes, grey (C = 1) or RGB (C = 3), for a page: as PNG, or as JPEG where that is smaller.

    >>> data_uri(np.zeros((1, 8, 8), dtype=np.uint8))[:22]
    'data:image/png;base64,'
    """
    if image.dtype != np.uint8 or image.ndim != 3 or len(image) not in (1, 3, 4):
        raise InputError(
            f"An image must be bytes of shape (1 or 3, height, width), got {image.dtype} of shape {image.shape}."
        )
    pixels = image[0] if len(image) == 1 else np.moveaxis(image[:3], 0, -1)  # (H, W) or (H, W, 3)
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    picture.thumbnail((LARGEST_SIDE, LARGEST_SIDE))
    kinds = ("png",) if max(picture.size) < SMALLEST_SMOOTH_SIDE else ("png", "jpeg")
    files = {kind: io.BytesIO() for kind in kinds}
    for kind, file in files.items():
        picture.save(file, format=kind, optimize=True)
    kind, content = min(((kind, file.getvalue()) for kind, file in files.items()), key=lambda file: len(file[1]))
    return f"data:image/{kind};base64," + base64.b64encode(content).decode("ascii")


SHOWN = {"pixels": 7, "photo": 8, "text": 5}  # most certain items of a class, and as many least certain ones
NAMES = 4  # of each kind in the row of a class without previews
MOST_CLASSES = 30  # rows of a gallery


@dataclass(frozen=True, eq=False)
class ClassifiedItems:
    """The items, each with the class that the model puts it in."""

    classes: Sequence[str]  # (K,) the name of each class
    outputs: np.ndarray  # (n,) the class of each item, 0 to K-1
    probabilities: np.ndarray  # (n,) the probability of that class
    previews: Previews | None = None
    ids: Sequence[object] | np.ndarray | None = None

    def __post_init__(self) -> None:
        n = len(self.outputs)
        if len(self.probabilities) != n:
            raise InputError(f"Each of {n} items must have a probability, got {len(self.probabilities)}.")
        if n and not 0 <= np.min(self.outputs) <= np.max(self.outputs) < len(self.classes):
            raise InputError(
                f"outputs must be between 0 and {len(self.classes) - 1}: there are {len(self.classes)} classes."
            )
        if self.ids is not None and len(self.ids) != n:
            raise InputError(f"Each of {n} items must have an id, got {len(self.ids)} ids.")
        check_shares(self.probabilities, "probabilities")
        check_previews(self.previews, n)

    def __len__(self) -> int:
        return len(self.outputs)

    def name(self, i: int) -> str:
        """The id of an item, or its position where it has none."""
        return f"item {i}" if self.ids is None else str(self.ids[i])

    def preview(self, i: int, description: str = "") -> Preview | None:
        return None if self.previews is None else preview(self.previews[i], description or self.name(i))

    def check_positions(self, positions: np.ndarray, what: str) -> None:
        """Refuse answers or labels of items that are not there."""
        if len(positions) and not 0 <= np.min(positions) <= np.max(positions) < len(self):
            span = f"{np.min(positions)} to {np.max(positions)}"
            raise InputError(f"{what} must be about items 0 to {len(self) - 1}, got {span}.")


@dataclass(frozen=True)
class Entry:
    """One item in the row of its class."""

    name: str
    certainty: float
    preview: Preview | None
    note: str = ""  # beneath its preview
    mistake: bool = False


@dataclass(frozen=True)
class ClassRow:
    """One class: its name, some lines about it, and its most and least certain items."""

    name: str
    size: int
    notes: Sequence[str]
    most: Sequence[Entry]
    least: Sequence[Entry]


@dataclass(frozen=True)
class ClassTable:
    """The classes that a page shows, and how many there are."""

    rows: Sequence[ClassRow]
    n: int
    previews: bool


def class_table(items: ClassifiedItems, most_classes: int = MOST_CLASSES) -> ClassTable:
    """A row for each class; where items have previews, for at most `most_classes`."""
    shown = len(items.classes) if items.previews is None else most_classes
    rows = []
    for k, name in enumerate(items.classes[:shown]):
        members = np.flatnonzero(items.outputs == k)
        n = entries_per_side(items.previews)
        most, least = most_and_least_certain(members, np.asarray(items.probabilities), n)
        rows.append(
            ClassRow(
                str(name),
                len(members),
                [count(len(members), "item", "items")],
                [_entry(items, i, noted=False) for i in most],
                [_entry(items, i, noted=True) for i in least],
            )
        )
    return ClassTable(rows, len(items.classes), items.previews is not None)


def entries_per_side(previews: Previews | None) -> int:
    """How many of the most certain items of a class are shown, and how many of the least certain: photos take more
    room than drawings, and texts more than photos."""
    if previews is None or not len(previews):
        return NAMES
    return SHOWN[preview(previews[0], "").kind]


def most_and_least_certain(members: np.ndarray, certainty: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Up to `n` positions of each kind, most certain first and least certain first; no item is in both.

    >>> most_and_least_certain(np.array([0, 2, 3]), np.array([0.5, 0.9, 0.7, 0.8]), 2)
    ([3, 2], [0])
    """
    falling = members[np.argsort(-certainty[members], kind="stable")].tolist()
    n_most = min(n, (len(falling) + 1) // 2)
    return falling[:n_most], falling[n_most:][::-1][:n]


def check_shares(values: np.ndarray, name: str) -> None:
    try:
        as_shares(values, name)
    except ValueError as error:
        raise InputError(str(error)) from error


def _entry(items: ClassifiedItems, i: int, *, noted: bool) -> Entry:
    probability = float(items.probabilities[i])
    shown = items.preview(i, f"{items.name(i)}, certainty {probability:.3f}")
    return Entry(items.name(i), probability, shown, note=certainty(probability, digits=0) if noted else "")
