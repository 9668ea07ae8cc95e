"""The classes found: the right items in the right order, as pictures or as ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from likewise.reporting.class_gallery import class_gallery, class_table, classes_section
from likewise.reporting.judged import SortedItems

Read = Callable[[str], Any]

OUTPUTS = np.array([0, 2, 0, 0, 2, 0])
PROBABILITIES = np.array([0.5, 0.9, 0.7, 0.999, 0.4, 0.6])
IMAGES = np.arange(6 * 64, dtype=np.uint8).reshape(6, 1, 8, 8)


def items(**changes: Any) -> SortedItems:
    given: dict[str, Any] = {"classes": ["apple", "pear", "<b>"], "outputs": OUTPUTS, "probabilities": PROBABILITIES}
    return SortedItems(**(given | {"ids": [*"abcde", "<i>"]} | changes))


def test_a_table_has_every_class_with_its_size_and_ids(read: Read) -> None:
    table = read(class_table(items()))
    assert [th.text for th in table.all("thead")[0].all("th")] == ["Class", "Items", "Most certain", "Least certain"]
    rows = [[cell.text for cell in row.children] for row in table.all("tbody")[0].all("tr")]
    assert rows == [
        ["apple", "4", "d >99 %c 70 %", "a 50 %<i> 60 %"],
        ["pear", "0", "\N{EN DASH}", "\N{EN DASH}"],
        ["<b>", "2", "b 90 %", "e 40 %"],
    ]


def test_items_without_ids_are_told_by_their_position(read: Read) -> None:
    cells = read(class_table(items(ids=None))).all("li")
    assert [cell.text for cell in cells][:2] == ["item 3 >99 %", "item 2 70 %"]


def test_a_gallery_shows_pictures_most_and_least_certain(read: Read) -> None:
    rows = read(class_gallery(items(images=IMAGES), IMAGES)).all("div", "found")
    assert [row.all("h3")[0].text for row in rows] == ["apple", "pear", "<b>"]
    assert [row.all("p")[0].text for row in rows] == ["4 items", "no item", "2 items"]
    most, least = rows[0].all("ul", "sheet")
    assert [img.attributes["alt"] for img in most.all("img")] == ["d, certainty 0.999", "c, certainty 0.700"]
    assert [img.attributes["alt"] for img in least.all("img")] == ["a, certainty 0.500", "<i>, certainty 0.600"]
    assert [li.text for li in most.all("li") + least.all("li")] == ["", "", "50 %", "60 %"]
    assert not rows[1].all("img")


def test_a_gallery_has_as_many_classes_as_asked_for(read: Read) -> None:
    some, whole = (read(classes_section(items(images=IMAGES), most)) for most in (2, 3))
    assert [len(page.all("div", "found")) for page in (some, whole)] == [2, 3]
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
    class_gallery(SortedItems(["a"], np.zeros(100, int), probabilities, lazy), lazy)
    assert sorted(lazy.read) == [*range(7), *range(93, 100)]
