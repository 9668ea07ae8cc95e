"""Omniglot: 50 alphabets of characters, each drawn by 20 people; the zips as downloaded, or unpacked."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.datasets.images import UnreadableImage, read_image
from likewise.datasets.items import Items
from likewise.datasets.source_files import find, get_again, leads_outside, locate
from likewise.errors import InputError

# What the method's authors normalise with, ink high; at 32 x 32 the two parts measure 0.078 / 0.223 and 0.084 / 0.231.
OMNIGLOT_MEAN, OMNIGLOT_STD = (0.086,), (0.235,)
LARGEST_FILE = 2**22  # bytes of one in the zip; a drawing has some hundred


def load_omniglot(
    part: Literal["background", "evaluation"], data: Path | str | None = None, *, size: int = 32
) -> dict[str, Items]:
    """The alphabets of one part (30 in background, 20 in evaluation), by name, in sorted order.

    The drawings, black on white and 105 x 105, are resized and inverted so that ink is high. A label is the character
    within its alphabet; the ids are the paths inside the zip.

    >>> import tempfile
    >>> from PIL import Image
    >>> drawing = Path(tempfile.mkdtemp()) / "omniglot" / "images_background" / "Greek" / "character01" / "0001_01.png"
    >>> drawing.parent.mkdir(parents=True)
    >>> Image.new("1", (105, 105)).save(drawing)
    >>> load_omniglot("background", drawing.parents[4])["Greek"].inputs.shape
    torch.Size([1, 1, 32, 32])
    """
    if part not in ("background", "evaluation"):
        raise InputError(f"There is no part of Omniglot called {part!r}; choose background or evaluation.")
    root = f"images_{part}"
    source = find("omniglot", (root,), data) or locate("omniglot", (f"{root}.zip",), data)
    remedy = get_again("omniglot", data, instead_of=source)
    drawings: dict[str, dict[str, NDArray[np.uint8]]] = {}  # alphabet, name, (1, size, size)
    name = root
    try:
        for name, content in _read_folder(source) if source.is_dir() else _read_zip(source, root, remedy):
            alphabet = name.split("/")[1]
            drawings.setdefault(alphabet, {})[name] = 255 - read_image(io.BytesIO(content), size, 1)
    except UnreadableImage as error:
        raise InputError(f"{name} in {source} cannot be read ({error}); {remedy}.") from error
    except InputError:
        raise
    except Exception as error:  # the readers raise whatever they meet: BadZipFile, OSError, RuntimeError, ...
        raise InputError(f"{source} cannot be read ({error}); {remedy}.") from error
    if not drawings:
        raise InputError(f"{source} holds no {root}/ALPHABET/CHARACTER/DRAWING.png; {remedy}.")
    return {alphabet: _items(drawings[alphabet]) for alphabet in sorted(drawings)}


def _read_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("*/*/*.png")):
        yield f"{folder.name}/{path.relative_to(folder).as_posix()}", path.read_bytes()


def _read_zip(path: Path, root: str, remedy: str) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(path) as archive:
        members = {member.filename: member for member in archive.infolist()}
        for name, member in sorted(members.items()):
            if leads_outside(name) or stat.S_ISLNK(member.external_attr >> 16) or member.file_size > LARGEST_FILE:
                raise InputError(f"{path} holds {name!r}, which is a link, too large, or not below it; {remedy}.")
            if name.startswith(f"{root}/") and name.endswith(".png") and name.count("/") == 3:
                yield name, archive.read(member)


def _items(drawings: dict[str, NDArray[np.uint8]]) -> Items:
    # "Greek/character01": unlike "character01" it stays unique when alphabets are put together.
    characters = ["/".join(name.split("/")[1:3]) for name in drawings]
    names, labels = np.unique(characters, return_inverse=True)
    images = torch.from_numpy(np.stack(list(drawings.values())))
    return Items(images, torch.from_numpy(labels.astype(np.int64)), tuple(names.tolist()), tuple(drawings))
