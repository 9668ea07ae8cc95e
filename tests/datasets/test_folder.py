"""Image folders that the test writes: classes, flat files, broken files, odd images."""

from __future__ import annotations

import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.datasets import load_folder
from likewise.errors import InputError


def save(path: Path, colour: str | int = "red", mode: str = "RGB", size: tuple[int, int] = (6, 4)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


def test_sub_folders_are_classes_however_deep(tmp_path: Path) -> None:
    save(tmp_path / "dog" / "2.png", "lime")
    save(tmp_path / "cat" / "b" / "deep.JPG", "red")
    save(tmp_path / "cat" / "a.bmp", "blue")
    save(tmp_path / "loose.png", "white")
    (tmp_path / "notes.txt").write_text("not an image")
    save(tmp_path / ".thumbnails" / "hidden.png")
    save(tmp_path / "cat" / "._a.png")
    (tmp_path / "empty").mkdir()

    items = load_folder(tmp_path, size=5)
    assert items.ids == ("cat/a.bmp", "cat/b/deep.JPG", "dog/2.png", "loose.png")
    assert items.class_names == ("cat", "dog")
    assert items.labels.tolist() == [0, 0, 1, -1]
    assert items.inputs.shape == (4, 3, 5, 5)
    assert items.inputs.dtype == torch.uint8
    corner = items.inputs[:, :, 0, 0].tolist()
    assert corner[0] == [0, 0, 255]
    assert corner[1] == pytest.approx([255, 0, 0], abs=3)  # JPEG is not exact
    assert corner[2:] == [[0, 255, 0], [255, 255, 255]]


def test_classes_that_come_in_groups(tmp_path: Path) -> None:
    for name in ("Greek/alpha/1.png", "Greek/alpha/deeper/2.png", "Latin/alpha/1.png"):
        save(tmp_path / name)
    items = load_folder(tmp_path, grouped=True)
    assert items.class_names == ("Greek/alpha", "Latin/alpha")
    assert items.labels.tolist() == [0, 0, 1]
    assert items.groups() == ["Greek", "Greek", "Latin"]
    save(tmp_path / "Greek" / "of no class.png")
    with pytest.raises(InputError, match="The class 'Greek' names no group"):
        load_folder(tmp_path, grouped=True).groups()


def test_flat_folder_has_no_labels(tmp_path: Path) -> None:
    for name in ("b.png", "a.png"):
        save(tmp_path / name)
    items = load_folder(tmp_path)
    assert items.ids == ("a.png", "b.png")
    assert items.labels.tolist() == [-1, -1]
    assert items.n_classes == 0


def test_grey_is_the_luminance(tmp_path: Path) -> None:
    save(tmp_path / "red.png", "red")
    save(tmp_path / "white.png", 1, mode="1")
    items = load_folder(tmp_path, size=3, channels=1)
    assert items.inputs.shape == (2, 1, 3, 3)
    assert items.inputs[0].unique().tolist() == [76]  # 0.299 x 255
    assert items.inputs[1].unique().tolist() == [255]


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.paste((255, 0, 0, 255), (0, 0, 4, 2))
    image.save(tmp_path / "icon.png")
    image.convert("P").save(tmp_path / "palette.png", transparency=image.convert("P").getpixel((0, 3)))
    icon, palette = load_folder(tmp_path, size=4).inputs
    assert icon[:, 0, 0].tolist() == [255, 0, 0]
    assert icon[:, 3, 3].tolist() == [255, 255, 255]
    assert palette[:, 3, 3].tolist() == [255, 255, 255]


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    image = Image.new("L", (8, 8))
    image.paste(255, (0, 0, 8, 4))  # the upper half is light
    exif = Image.Exif()
    exif[0x0112] = 3  # "the camera was upside down"
    image.save(tmp_path / "photo.png", exif=exif)
    pixels = load_folder(tmp_path, size=8, channels=1).inputs[0, 0]
    assert torch.all(pixels[:3] == 0)
    assert torch.all(pixels[5:] == 255)


def test_large_photograph_is_averaged_not_sampled(tmp_path: Path) -> None:
    stripes = np.zeros((320, 320), dtype=np.uint8)
    stripes[:, ::2] = 200
    Image.fromarray(stripes).save(tmp_path / "stripes.jpg", quality=95)
    pixels = load_folder(tmp_path, size=8, channels=1).inputs
    assert pixels.float().sub(100).abs().max() < 8


def test_link_to_a_class_is_followed_and_a_circle_is_not(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "1.png")
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(folder)
    assert load_folder(folder).ids == ("cat/1.png",)


def break_some(folder: Path) -> None:
    for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        save(folder / name, size=(30, 30))
    (folder / "cat" / "1.png").write_bytes((folder / "cat" / "1.png").read_bytes()[:50])
    (folder / "dog" / "0.jpg").write_text("<html>not found</html>")
    (folder / "dog" / "2.gif").write_bytes(b"")


def test_broken_images_are_left_out_with_one_warning(tmp_path: Path) -> None:
    break_some(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        items = load_folder(tmp_path)
    assert items.ids == ("cat/2.png", "dog/1.png")
    assert items.labels.tolist() == [0, 1]
    assert items.inputs[:, 0].unique().tolist() == [255]
    assert [str(warning.message).split(" (")[0] for warning in caught] == [
        f"3 of the 5 images in {tmp_path} cannot be read, the first is {tmp_path / 'cat' / '1.png'}"
    ]
    assert Path(caught[0].filename) == Path(__file__)


def test_broken_images_are_refused_when_strict(tmp_path: Path) -> None:
    break_some(tmp_path)
    with pytest.raises(InputError, match=r"^3 of the 5 images in .* the first is .*1\.png .*; replace or delete them"):
        load_folder(tmp_path, strict=True)


def test_class_of_broken_images_alone_is_no_class(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/1.png", "loose.png"):
        save(tmp_path / name)
    (tmp_path / "cat" / "1.png").write_bytes(b"")
    with pytest.warns(UserWarning, match="1 of the 3 images"):
        items = load_folder(tmp_path)
    assert items.class_names == ("dog",)
    assert items.labels.tolist() == [0, -1]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing is not a folder; give"):
        load_folder(tmp_path / "missing")
    with pytest.raises(InputError, match=r"holds no image; its files should end in one of .*\.png"):
        load_folder(tmp_path)
    (tmp_path / "a.png").write_text("text")
    with pytest.raises(InputError, match=r"^1 of the 1 images .*; give a folder of sound images"):
        load_folder(tmp_path)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    try:
        shutil.copy(tmp_path / "a.png", tmp_path / os.fsdecode(b"b\xff.png"))
    except OSError:
        pytest.skip("this file system takes text alone")
    with pytest.raises(InputError, match=r"b\\udcff\.png: this name is not UTF-8 text"):
        load_folder(tmp_path)
