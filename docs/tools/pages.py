"""What the site needs beyond Markdown: pages from the repository's root, links that leave docs/, formulas as MathML."""

from __future__ import annotations

import html
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[2]
ROOT_PAGES = {
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "RESULTS.md": "results.md",
}
COPIED = ("benchmarks/*.json", "examples/*.py", "LICENSE", "CITATION.cff")
LINK = re.compile(r"(?<=\]\()(?!\w+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_config(config: Any) -> Any:
    """Let the code of pages import figures.py and commands.py."""
    sys.path.insert(0, str(Path(__file__).parent))
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages of the root, and the files that pages link to."""
    for name, page in ROOT_PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    for pattern in COPIED:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links are written for a reader of the repository; here they lead to where the site has the file."""
    here = page.file.src_uri
    at_root = {page: name for name, page in ROOT_PAGES.items()}.get(here)
    folder = posixpath.dirname(at_root or f"docs/{here}")

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[1]))
        inside = target.startswith("docs/")
        target = target.removeprefix("docs/") if inside else ROOT_PAGES.get(target, target)
        return posixpath.relpath(target, posixpath.dirname(here) or ".") + (link[2] or "")

    return LINK.sub(moved, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML, which browsers draw without a script."""

    def drawn(formula: re.Match[str]) -> str:
        display = "block" if formula[2] == "[" else "inline"
        return convert(html.unescape(formula[3]).strip(), display=display)

    return FORMULA.sub(drawn, content)
