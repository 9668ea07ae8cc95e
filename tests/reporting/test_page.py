"""The parts of a page: escaped, well-formed, written whole; a count and a certainty in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from likewise.reporting.page import card, card_row, certainty, section, write_page

Read = Callable[[str], Any]
EVIL = "<script>\"&'"


def test_a_page_is_escaped_and_leaves_out_empty_sections(tmp_path: Path, read: Read) -> None:
    sections = [section(EVIL, EVIL, "<p>body</p>"), "", section("B", "")]
    write_page(tmp_path / "new" / "page.html", title=EVIL, summary=f"{EVIL}\n\n \n\nSecond", sections=sections)
    tree = read((tmp_path / "new" / "page.html").read_text(encoding="utf-8"))
    assert not tree.all("script")
    assert tree.all("title")[0].text == tree.all("h1")[0].text == EVIL
    assert [p.text for p in tree.all("header")[0].all("p")] == [EVIL, "Second"]
    first, second = tree.all("section")
    assert [h.text for h in first.all("h2")] == [EVIL]
    assert [p.text for p in first.all("p")] == [EVIL, "body"]
    assert second.text.strip() == "B"
    assert not second.all("div")


def test_cards_then_facts_then_the_note(read: Read) -> None:
    tree = read(card_row([card("<i>a</i>", "1 <small>%</small>", EVIL)], {EVIL: EVIL}, EVIL))
    assert tree.cards() == {"a": ("1 %", EVIL), EVIL: (EVIL, "")}
    assert [p.text for p in tree.all("p", "note")] == [EVIL]
    assert card_row([], None, "note") == card_row([], {}) == ""


@pytest.mark.parametrize(
    ("probability", "digits", "text"),
    [
        (0.5, 1, "50.0 %"),
        (0.9994, 1, "99.9 %"),
        (0.9996, 1, ">99.9 %"),
        (0.994, 0, "99 %"),
        (0.996, 0, ">99 %"),
        (1.0, 0, "100 %"),
        (0.0004, 1, "0.0 %"),
    ],
)
def test_only_what_is_certain_is_called_100_percent(probability: float, digits: int, text: str) -> None:
    assert certainty(probability, digits) == text


def test_a_failed_write_leaves_the_old_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    write_page(path, title="Old", summary="", sections=[])
    before = path.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_page(path, title="New", summary="", sections=[])
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
