"""Items in their classes: the right ones in the right order, as pictures, texts or ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from likewise.errors import InputError
from likewise.reporting.classes import ClassifiedItems, class_table, most_and_least_certain
from likewise.reporting.page import templates

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
