"""README: its example prints what it says, it is short, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


def test_the_example_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(from sklearn.*?)```\n\n```\n(.*?)```", README, re.S)
    assert found is not None
    code, shown = found.groups()
    exec(code, {})  # the README's own words
    printed = capsys.readouterr().out
    share = re.compile(r"[\d.]+(?=%)")
    assert share.sub("", printed) == share.sub("", shown)
    for now, then in zip(share.findall(printed), share.findall(shown), strict=True):
        assert float(now) == pytest.approx(float(then), abs=2)  # other processors round differently


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 100


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"])
def test_its_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!\w+:|#)([^)\s#]+)", (ROOT / page).read_text("utf-8"))
    assert [link for link in links if not (ROOT / link).exists()] == []
