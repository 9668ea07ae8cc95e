"""Thumbnails hold the pixels they were given; the most and least certain items are the right ones."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from PIL import Image

from likewise.errors import InputError
from likewise.reporting.gallery import check_pictures, found_class, image_uri, most_and_least_certain, thumbnail


def decoded(uri: str) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(uri.removeprefix("data:image/png;base64,")))))


def test_grey_and_rgb_pixels_survive() -> None:
    image = np.random.default_rng(0).integers(0, 256, (3, 5, 7), dtype=np.uint8)
    np.testing.assert_array_equal(decoded(image_uri(image)), image.transpose(1, 2, 0))
    np.testing.assert_array_equal(decoded(image_uri(image[:1])), image[0])


def test_large_images_are_reduced_in_proportion() -> None:
    assert decoded(image_uri(np.zeros((1, 144, 288), dtype=np.uint8))).shape == (72, 144)


def test_only_small_images_show_their_pixels() -> None:
    assert 'class="thumb pixels"' in thumbnail(np.zeros((1, 8, 8), dtype=np.uint8), "x")
    assert 'class="thumb"' in thumbnail(np.zeros((1, 64, 64), dtype=np.uint8), "x")


@pytest.mark.parametrize("n_members", [0, 1, 2, 5, 6, 7, 20])
def test_no_item_is_both_most_and_least_certain(n_members: int) -> None:
    rng = np.random.default_rng(n_members)
    certainty = rng.random(30)
    members = np.sort(rng.permutation(30)[:n_members])
    most, least = most_and_least_certain(members, certainty, 3)
    rising = sorted(members.tolist(), key=lambda i: certainty[i])
    assert most == rising[::-1][: len(most)]
    assert least == rising[: len(least)]
    assert not set(most) & set(least)
    assert len(most) + len(least) == min(n_members, 6)


def test_a_class_without_items_shows_no_sheet(read: Callable[[str], Any]) -> None:
    empty = read(found_class("<b>", ["no item", "<i>"], [], []))
    assert [h.text for h in empty.all("h3")] == ["<b>"]
    assert empty.all("p")[0].text == "no item<i>"
    assert not empty.all("ul")
    assert [h.text for h in read(found_class("a", [], ["<li></li>"], [])).all("h4")] == ["Most certain"]


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((2, 1, 8, 8)), r"bytes of shape \(2, channels, height, width\), got float64"),
        (np.zeros((2, 8, 8), dtype=np.uint8), r"got uint8 of shape \(2, 8, 8\)"),
        (np.zeros((3, 1, 8, 8), dtype=np.uint8), r"got uint8 of shape \(3, 1, 8, 8\)"),
        ([np.zeros((1, 8, 8), dtype=np.uint8)], "an image for each of 2 items, got 1 images"),
    ],
)
def test_images_that_are_not_those_of_the_items_are_refused(images: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_pictures(images, 2)


@pytest.mark.parametrize(
    "image", [np.zeros((8, 8), dtype=np.uint8), np.zeros((1, 8, 8)), np.zeros((2, 8, 8), np.uint8)]
)
def test_what_is_no_image_is_refused(image: np.ndarray) -> None:
    with pytest.raises(InputError, match=r"An image must be bytes of shape \(1 or 3, height, width\), got"):
        image_uri(image)


def test_photos_are_jpeg_at_a_size_one_can_see() -> None:
    photo = np.full((3, 200, 400), 90, dtype=np.uint8)
    uri = image_uri(photo)
    assert uri.startswith("data:image/jpeg;base64,")
    assert Image.open(io.BytesIO(base64.b64decode(uri.partition(",")[2]))).size == (144, 72)
    assert image_uri(photo[:1]).startswith("data:image/png;base64,")  # a drawing stays exact
