"""Previews hold the pixels they were given, in proportion, and classes show the items they should."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from likewise.errors import InputError
from likewise.reporting.gallery import (
    ClassifiedItems,
    FilePreviews,
    TensorPreviews,
    check_previews,
    class_table,
    data_uri,
    most_and_least_certain,
    preview,
    previews_of,
)
from likewise.reporting.page import templates


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


Read = Callable[[str], Any]

OUTPUTS = np.array([0, 2, 0, 0, 2, 0])
PROBABILITIES = np.array([0.5, 0.9, 0.7, 0.999, 0.4, 0.6])
IMAGES = np.arange(6 * 64, dtype=np.uint8).reshape(6, 1, 8, 8)


def items(**changes: Any) -> ClassifiedItems:
    given: dict[str, Any] = {"classes": ["apple", "pear", "<b>"], "outputs": OUTPUTS, "probabilities": PROBABILITIES}
    return ClassifiedItems(**(given | {"ids": [*"abcde", "<i>"]} | changes))


def page(items: ClassifiedItems, most_classes: int = 30) -> str:
    """The section of the classes, as every page has it."""
    parts: Any = templates().get_template("parts.html").module
    return str(parts.classes(class_table(items, most_classes)))


def test_a_table_has_every_class_with_its_size_and_ids(read: Read) -> None:
    table = read(page(items()))
    assert [th.text for th in table.all("thead")[0].all("th")] == ["Class", "Items", "Most certain", "Least certain"]
    rows = [[cell.text for cell in row.children] for row in table.all("tbody")[0].all("tr")]
    assert rows == [
        ["apple", "4", "d >99 %c 70 %", "a 50 %<i> 60 %"],
        ["pear", "0", "\N{EN DASH}", "\N{EN DASH}"],
        ["<b>", "2", "b 90 %", "e 40 %"],
    ]


def test_items_without_ids_are_told_by_their_position(read: Read) -> None:
    cells = read(page(items(ids=None))).all("li")
    assert [cell.text for cell in cells][:2] == ["item 3 >99 %", "item 2 70 %"]


def test_a_gallery_shows_pictures_most_and_least_certain(read: Read) -> None:
    rows = read(page(items(previews=IMAGES))).all("div", "class-row")
    assert [row.all("h3")[0].text for row in rows] == ["apple", "pear", "<b>"]
    assert [row.all("p")[0].text for row in rows] == ["4 items", "no item", "2 items"]
    most, least = rows[0].all("ul", "sheet")
    assert [img.attributes["alt"] for img in most.all("img")] == ["d, certainty 0.999", "c, certainty 0.700"]
    assert [img.attributes["alt"] for img in least.all("img")] == ["a, certainty 0.500", "<i>, certainty 0.600"]
    assert [li.text for li in most.all("li") + least.all("li")] == ["", "", "50 %", "60 %"]
    assert not rows[1].all("img")


def test_a_gallery_has_as_many_classes_as_asked_for(read: Read) -> None:
    some, whole = (read(page(items(previews=IMAGES), most)) for most in (2, 3))
    assert [len(tree.all("div", "class-row")) for tree in (some, whole)] == [2, 3]
    assert "The first 2 of 3 classes." in some.text
    assert "The first" not in whole.text


def test_only_the_pictures_shown_are_read() -> None:
    class Lazy:
        def __init__(self) -> None:
            self.read: list[int] = []

        def __len__(self) -> int:
            return 100

        def __getitem__(self, position: int, /) -> np.ndarray:
            self.read.append(position)
            return np.zeros((3, 8 + position % 2, 8), dtype=np.uint8)

    lazy = Lazy()
    probabilities = np.arange(100) / 100
    class_table(ClassifiedItems(["a"], np.zeros(100, int), probabilities, lazy))
    assert sorted(set(lazy.read)) == [*range(7), *range(93, 100)]


def test_texts_are_shown_as_texts(read: Read) -> None:
    texts = ["Where is <my> card?", "second", "third", "fourth " * 100, "fifth", "sixth"]
    [first, _, _] = read(page(items(previews=texts))).all("div", "class-row")
    most, least = first.all("ul", "text")
    assert [q.text for q in least.all("q")] == ["Where is <my> card?", "sixth"]
    assert len(most.all("q")[0].text) == 280  # it is cut
    assert not first.all("img")


def test_photos_take_more_room_than_drawings(read: Read) -> None:
    photos = np.zeros((20, 3, 64, 48), dtype=np.uint8)
    [row] = read(page(ClassifiedItems(["a"], np.zeros(20, int), np.ones(20), photos))).all("div", "class-row")
    assert [len(sheet.all("img")) for sheet in row.all("ul", "photo")] == [8, 8]


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


def test_an_item_without_id_is_named_by_its_position() -> None:
    assert ClassifiedItems(["a"], np.zeros(2, int), np.ones(2)).name(1) == "item 1"
    assert ClassifiedItems(["a"], np.zeros(2, int), np.ones(2), ids=np.array([7, 8])).name(1) == "8"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"probabilities": np.ones(2)}, "Each of 3 items must have a probability, got 2"),
        ({"probabilities": np.full(3, 1.5)}, "probabilities must be between 0 and 1"),
        ({"outputs": np.array([0, 1, 2])}, "outputs must be between 0 and 1: there are 2 classes"),
        ({"outputs": np.array([0, 1, -1])}, "outputs must be between 0 and 1"),
        ({"ids": ["a"]}, "Each of 3 items must have an id, got 1 ids"),
        ({"previews": np.zeros((2, 1, 8, 8), dtype=np.uint8)}, "Images must be bytes"),
    ],
)
def test_items_that_do_not_fit_are_refused(changes: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"classes": ["a", "b"], "outputs": np.array([0, 1, 1]), "probabilities": np.ones(3)}
    with pytest.raises(InputError, match=message):
        ClassifiedItems(**(given | changes))


@pytest.mark.parametrize("positions", [[1, 3], [-1, 1]])
def test_positions_that_are_not_there_are_refused(positions: list[int]) -> None:
    items = ClassifiedItems(["a"], np.zeros(3, int), np.ones(3))
    with pytest.raises(InputError, match="Labels must be about items 0 to 2, got"):
        items.check_positions(np.array(positions), "Labels")
