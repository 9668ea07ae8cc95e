"""Pages from templates: escaped, well-formed, written whole, and strict; numbers in words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError

from likewise.reporting.page import Card, certainty, templates, write_page

Read = Callable[[str], Any]
EVIL = "<script>\"&'"
TEMPLATES = sorted((Path(__file__).parents[2] / "src/likewise/reporting/templates").iterdir())


def test_a_page_is_escaped_and_its_folder_is_made(tmp_path: Path, read: Read) -> None:
    write_page(tmp_path / "new" / "page.html", "page.html", title=EVIL, summary=f"{EVIL}\n\n \n\nSecond")
    tree = read((tmp_path / "new" / "page.html").read_text(encoding="utf-8"))
    tree.check_self_contained()
    assert tree.all("title")[0].text == tree.all("h1")[0].text == EVIL
    assert [p.text for p in tree.all("header")[0].all("p")] == [EVIL, "Second"]


def test_cards_and_their_note_are_escaped(read: Read) -> None:
    parts: Any = templates().get_template("parts.html").module
    tree = read(str(parts.cards([Card("a", "1", "%", EVIL), Card(EVIL, EVIL, EVIL)], EVIL)))
    assert tree.cards() == {"a": ("1 %", EVIL), EVIL: (f"{EVIL} {EVIL}", "")}
    assert [p.text for p in tree.all("p", "note")] == [EVIL]
    assert not str(parts.cards([], "note")).strip()


def test_what_a_template_is_not_given_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UndefinedError, match="is undefined"):
        write_page(tmp_path / "page.html", "labels.html", title="", summary="")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_escape_everything_and_fetch_nothing(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert "safe" not in source.replace("escape", "")
    assert "autoescape" not in source
    assert "://" not in source
    assert not [
        word for word in ("<link", "@import", "url(", " src=") if word in source.replace(' src="{{ item.uri }}"', "")
    ]


def test_a_name_that_is_not_unicode_is_written_with_backslashes(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", "page.html", title=b"caf\xe9.png".decode(errors="surrogateescape"), summary="")
    assert "<h1>caf\\udce9.png</h1>" in (tmp_path / "page.html").read_text(encoding="utf-8")


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
    assert certainty(probability, digits) == text.replace(" ", "\N{NO-BREAK SPACE}")


def test_a_failed_write_leaves_the_old_page_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "page.html"
    write_page(path, "page.html", title="Old", summary="")
    before = path.read_bytes()

    def full_disk(descriptor: int) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr("os.fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_page(path, "page.html", title="New", summary="")
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["page.html"]
