"""Omniglot as a zip and as a folder, with drawings that the test makes."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from PIL import Image

from likewise.datasets import load_omniglot
from likewise.errors import InputError


def drawing(ink: tuple[int, int, int, int] | None) -> bytes:
    """A 1-bit PNG of 105 x 105, white, with one black rectangle (left, top, right, bottom)."""
    image = Image.new("1", (105, 105), 1)
    if ink:
        image.paste(0, ink)
    file = io.BytesIO()
    image.save(file, "png")
    return file.getvalue()


LEFT_HALF = (0, 0, 52, 105)
TOP_HALF = (0, 0, 105, 52)
FILES = {
    "Greek/character02/0002_01.png": drawing(TOP_HALF),
    "Greek/character01/0001_01.png": drawing(LEFT_HALF),
    "Greek/character01/0001_02.png": drawing(None),
    "Anglo-Saxon_Futhorc/character01/0003_01.png": drawing((0, 0, 105, 105)),
}


def write(data: Path, form: str, files: dict[str, bytes]) -> Path:
    folder = data / "omniglot" / "images_background"
    folder.parent.mkdir(parents=True)
    if form == "zip":
        path = folder.with_suffix(".zip")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("__MACOSX/images_background/Greek/._0001_01.png", b"junk")
            for name, content in files.items():
                archive.writestr(f"images_background/{name}", content)
        return path
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_alphabets_labels_ids_and_ink(tmp_path: Path, form: str) -> None:
    write(tmp_path, form, FILES)
    alphabets = load_omniglot("background", tmp_path)
    assert list(alphabets) == ["Anglo-Saxon_Futhorc", "Greek"]
    greek = alphabets["Greek"]
    assert greek.class_names == ("Greek/character01", "Greek/character02")
    assert greek.labels.tolist() == [0, 0, 1]
    assert greek.ids == tuple(f"images_background/{name}" for name in sorted(FILES)[1:])
    assert greek.inputs.shape == (3, 1, 32, 32)
    assert greek.inputs.dtype == torch.uint8
    left, blank, top = greek.inputs[:, 0]
    assert torch.all(left[:, :15] == 255)
    assert torch.all(left[:, 17:] == 0)
    assert torch.all(blank == 0)
    assert torch.equal(top, left.T)
    assert torch.all(alphabets["Anglo-Saxon_Futhorc"].inputs == 255)


def test_size_of_choice(tmp_path: Path) -> None:
    write(tmp_path, "zip", FILES)
    assert load_omniglot("background", tmp_path, size=28)["Greek"].inputs.shape == (3, 1, 28, 28)


def test_missing_part_and_unknown_part(tmp_path: Path) -> None:
    write(tmp_path, "zip", FILES)
    expected = (
        f"omniglot/images_evaluation.zip is not in {tmp_path}; run `likewise data get omniglot --data {tmp_path}`"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        load_omniglot("evaluation", tmp_path)
    with pytest.raises(InputError, match="no part of Omniglot called 'training'; choose background or evaluation"):
        load_omniglot("training", tmp_path)  # type: ignore[arg-type]


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_unreadable_drawing_is_named(tmp_path: Path, form: str) -> None:
    name = "Greek/character01/0001_02.png"
    source = write(tmp_path, form, FILES | {name: FILES[name][:60]})
    remedy = f"; delete {source} and run `likewise data get omniglot --data {tmp_path}`."
    with pytest.raises(InputError, match=f"^images_background/{name} in .* cannot be read .*{re.escape(remedy)}$"):
        load_omniglot("background", tmp_path)


def test_truncated_zip_wrong_bytes_inside_and_empty_zip(tmp_path: Path) -> None:
    path = write(tmp_path, "zip", FILES)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))} cannot be read \(File is not a zip file\); delete"):
        load_omniglot("background", tmp_path)
    place = content.index(b"IDAT") + 6  # a damaged byte that the zip finds by its checksum
    path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
    with pytest.raises(InputError, match=r"cannot be read .*CRC"):
        load_omniglot("background", tmp_path)
    with zipfile.ZipFile(path, "w"):
        pass
    with pytest.raises(InputError, match="holds no images_background/ALPHABET"):
        load_omniglot("background", tmp_path)


@pytest.mark.parametrize(("part", "alphabets", "characters"), [("background", 30, 964), ("evaluation", 20, 659)])
def test_real_omniglot(real_data: Callable[[str], Path], part: str, alphabets: int, characters: int) -> None:
    loaded = load_omniglot(part, real_data("omniglot"))  # type: ignore[arg-type]
    assert len(loaded) == alphabets
    assert sum(items.n_classes for items in loaded.values()) == characters
    assert all(count == 20 for items in loaded.values() for count in items.labels.bincount().tolist())
