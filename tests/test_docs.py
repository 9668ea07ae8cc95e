"""The documentation builds without a warning, its tutorials run, its pages need no network, its names have examples."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import likewise

ROOT = Path(__file__).parent.parent
API = sorted(
    name for page in (ROOT / "docs" / "api").glob("*.md") for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)
)
TUTORIALS = sorted(path.stem for path in (ROOT / "docs" / "tutorials").glob("*.md") if path.stem != "index")


def documented(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


@pytest.mark.parametrize("name", API)
def test_a_name_of_the_reference_has_an_example(name: str) -> None:
    assert ">>> " in (inspect.getdoc(documented(name)) or "")


def test_the_reference_has_every_name_of_the_package() -> None:
    things = [documented(name) for name in API]
    for name in set(likewise.__all__) - {"__version__"}:
        assert any(getattr(likewise, name) is thing for thing in things), name


@pytest.mark.once
@pytest.mark.skipif(find_spec("mkdocs") is None, reason="mkdocs is not installed: pip install -e '.[docs]'")
def test_the_site_builds_and_needs_no_network(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(tmp_path)]  # strict, by mkdocs.yml
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(build, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for page in tmp_path.rglob("*.html"):
        text = page.read_text("utf-8")
        assert not re.findall(r'<(?:script|img|iframe|source)[^>]* src="https?:[^"]*"', text), page
        assert not re.findall(r'<link[^>]* href="https?:[^"]*"', text), page
    for name in TUTORIALS:  # every tutorial was run, and shows its pictures
        assert '<img class="figure"' in (tmp_path / "tutorials" / f"{name}.html").read_text("utf-8"), name
    assert "<math" in (tmp_path / "method" / "likelihood.html").read_text("utf-8")
