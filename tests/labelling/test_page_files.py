"""The files of the page: whole, with nothing from elsewhere, and nothing that would make markup or code of data."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import likewise

PAGE = Path(likewise.__file__).parent / "labelling" / "page"
FILES = sorted(PAGE.iterdir())
MODULES = [path for path in FILES if path.suffix == ".js"]


def reached(name: str, text: str) -> set[str]:
    """The files that a file of the page loads."""
    pattern = r'(?:href|src)="/page/([^"]+)"' if name.endswith(".html") else r'from "\./([^"]+)"'
    return set(re.findall(pattern, text))


def test_every_file_is_loaded_and_every_loaded_file_is_there() -> None:
    loaded, waiting = set(), {"index.html"}
    while waiting:
        name = waiting.pop()
        loaded.add(name)
        waiting |= reached(name, (PAGE / name).read_text("utf-8")) - loaded
    assert loaded == {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    text = path.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    assert re.findall(r"https?://|@import|url\(|//[a-z]+\.[a-z]", text) == []


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_data_is_inserted_as_text(path: Path) -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(\"style\""
    assert re.findall(forbidden, path.read_text("utf-8")) == []


def test_there_is_no_inline_script_or_style() -> None:
    text = (PAGE / "index.html").read_text("utf-8")
    assert re.findall(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", text) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_one_idea(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 350
    if path.suffix in (".js", ".css"):
        assert text.startswith(("// ", "/* "))  # the idea, in a sentence
