"""Previews hold the pixels they were given, in their proportions, and are small."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from likewise.errors import InputError
from likewise.reporting.previews import (
    FilePreviews,
    TensorPreviews,
    check_previews,
    data_uri,
    preview,
    previews_of,
)


def decoded(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))))


def test_grey_and_rgb_pixels_survive() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 5, 7), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(data_uri(image)), image.transpose(1, 2, 0))
    np.testing.assert_array_equal(decoded(data_uri(image[:1])), image[0])


def test_large_images_are_reduced_in_proportion() -> None:
    assert decoded(data_uri(np.zeros((3, 200, 400), dtype=np.uint8))).shape == (96, 192, 3)


def test_a_photo_is_embedded_as_the_smaller_file() -> None:
    y, x = np.mgrid[:192, :192]
    drawing = np.where((x // 40 + y // 40) % 2, 255, 0)[None].astype(np.uint8)
    photo = np.random.default_rng(0).integers(0, 256, (3, 192, 192), dtype=np.uint8)
    assert data_uri(drawing).startswith("data:image/png;")
    assert data_uri(photo).startswith("data:image/jpeg;")


def test_only_small_images_show_their_pixels() -> None:
    assert preview(np.zeros((1, 8, 8), dtype=np.uint8), "x").kind == "pixels"
    assert preview(np.zeros((1, 64, 64), dtype=np.uint8), "x").kind == "photo"


def test_files_are_read_in_their_proportions_and_upright(tmp_path: Path) -> None:
    pixels = np.zeros((40, 60, 3), dtype=np.uint8)
    pixels[:, 30:] = 255  # the right half is white
    turned = Image.Exif()
    turned[0x0112] = 6  # a camera held upright: turned by a quarter, the right half comes to lie below
    Image.fromarray(pixels).save(tmp_path / "wide.png")
    Image.fromarray(pixels).save(tmp_path / "turned.png", exif=turned)
    wide, high = (FilePreviews(["wide.png", "turned.png"], tmp_path)[i] for i in range(2))
    assert (wide.shape, high.shape) == ((3, 40, 60), (3, 60, 40))
    assert (wide[0, 20, 5], wide[0, 20, 55]) == (0, 255)
    assert (high[0, 5, 20], high[0, 55, 20]) == (0, 255)


def test_previews_follow_from_what_the_items_are(tmp_path: Path) -> None:
    assert previews_of(np.zeros((5, 3))) is None
    (tmp_path / "a.png").touch()
    assert isinstance(previews_of([str(tmp_path / "a.png")]), FilePreviews)
    assert previews_of(["Where is my card?", "long " * 1000]) == ["Where is my card?", "long " * 1000]
    assert previews_of(["long " * 1000]) == ["long " * 1000]
    grey = previews_of(np.linspace(0, 1, 5 * 64).reshape(5, 8, 8))  # floats from 0 to 1
    assert isinstance(grey, TensorPreviews)
    assert (grey[4].shape, grey[4].dtype, grey[4].max()) == ((1, 8, 8), np.uint8, 255)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 1, 8, 8)), r"bytes of shape \(2, channels, height, width\), got float64"),
        (np.zeros((2, 8, 8), dtype=np.uint8), r"got uint8 of shape \(2, 8, 8\)"),
        (np.zeros((3, 1, 8, 8), dtype=np.uint8), r"got uint8 of shape \(3, 1, 8, 8\)"),
        ([np.zeros((1, 8, 8), dtype=np.uint8)], "a preview for each of 2 items, got 1"),
    ],
)
def test_images_that_are_not_those_of_the_items_are_refused(images: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_previews(images, 2)


@pytest.mark.parametrize(
    "image", [np.zeros((8, 8), dtype=np.uint8), np.zeros((1, 8, 8)), np.zeros((2, 8, 8), np.uint8)]
)
def test_what_is_no_image_is_refused(image: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"An image must be bytes of shape \(1 or 3, height, width\), got"):
        data_uri(image)
