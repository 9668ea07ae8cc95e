"""Items as the page shows them: upright, small enough, encoded anew, and by ids that say nothing."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from likewise.errors import InputError
from likewise.labelling.shown_items import (
    LONGEST_TEXT,
    MOST_FIELDS,
    ItemGone,
    PictureArray,
    PictureFiles,
    Rows,
    TextItems,
    opaque_ids,
)


def opened(sent: tuple[bytes, str]) -> Image.Image:
    return Image.open(BytesIO(sent[0]))


def test_a_photo_is_upright_and_tells_nothing_but_its_pixels(tmp_path: Path) -> None:
    pixels = np.zeros((100, 300, 3), dtype=np.uint8)
    pixels[:, :50] = (255, 0, 0)  # a red left edge, which is at the top when the photo is upright
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "taken at home"
    Image.fromarray(pixels).save(tmp_path / "a.jpg", exif=exif, quality=95)
    items = PictureFiles(tmp_path, ["a.jpg"])
    content, kind = items.picture(0, 4096)
    assert kind == "image/jpeg"
    assert b"taken at home" not in content
    with opened((content, kind)) as picture:
        assert picture.size == (100, 300)
        assert not picture.getexif()
        red, _, blue = picture.getpixel((50, 20))
        assert red > 200 > 50 > blue
        assert max(picture.getpixel((50, 200))) < 50


@pytest.mark.parametrize(("width", "expected"), [(16, 64), (64, 64), (65, 128), (300, 512), (4096, 1000)])
def test_a_picture_comes_in_few_widths(tmp_path: Path, width: int, expected: int) -> None:
    Image.new("RGB", (1000, 500)).save(tmp_path / "a.png")
    with opened(PictureFiles(tmp_path, ["a.png"]).picture(0, width)) as picture:
        assert picture.size == (expected, expected // 2)


def test_a_file_that_changes_is_shown_as_it_is_now(tmp_path: Path) -> None:
    items = PictureFiles(tmp_path, ["a.png"])
    colours = []
    for number, colour in enumerate(("red", "blue")):
        Image.new("RGB", (8, 8), colour).save(tmp_path / "a.png")
        os.utime(tmp_path / "a.png", ns=(number, number))
        with opened(items.picture(0, 64)) as picture:
            colours.append(picture.convert("RGB").getpixel((0, 0)))
    assert colours == [(255, 0, 0), (0, 0, 255)]


def test_a_file_that_is_gone_or_broken_is_said_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "b.png").write_bytes(b"no picture")
    items = PictureFiles(tmp_path, ["a.png", "b.png"])
    assert (items.exists(0), items.exists(1)) == (False, True)
    for position in (0, 1):
        with pytest.raises(ItemGone) as said:
            items.picture(position, 64)
        assert str(tmp_path) not in str(said.value)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_arrays_are_pictures(channels: int) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, channels, 5, 7), dtype=np.uint8)
    with opened(PictureArray(pixels).picture(1, 64)) as picture:
        assert picture.size == (7, 5)
        assert np.array_equal(np.asarray(picture), pixels[1, 0] if channels == 1 else pixels[1, :3].transpose(1, 2, 0))


def test_texts_are_cut_and_may_vanish(tmp_path: Path) -> None:
    from likewise.datasets.texts import load_texts

    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"{name} " * LONGEST_TEXT, encoding="utf-8")
    items = TextItems(load_texts(tmp_path).texts)
    assert len(items.text(0) or "") == LONGEST_TEXT
    (tmp_path / "a.txt").unlink()
    assert (items.exists(0), items.exists(1)) == (False, True)
    with pytest.raises(ItemGone):
        items.text(0)
    with pytest.raises(ItemGone):
        items.picture(1, 64)


def test_rows_are_fields() -> None:
    assert Rows(("width", "height"), np.array([[1.0, 2.5], [1 / 3, 1e9]])).fields(1) == {
        "width": 0.333333,
        "height": 1e9,
    }
    shown = Rows((), np.zeros((1, MOST_FIELDS + 5))).fields(0)
    assert shown is not None
    assert len(shown) == MOST_FIELDS + 1
    assert shown["more"] == "5 columns"


def test_ids_are_opaque_and_their_own() -> None:
    ids = opaque_ids(["cats/1.png", "cats/2.png"])
    assert len({*ids}) == 2
    assert all(len(each) == 16 and int(each, 16) >= 0 for each in ids)
    with pytest.raises(InputError, match="the same name"):
        opaque_ids(["a", "a"])
