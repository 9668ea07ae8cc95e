"""The release: one version, and a wheel that works in a new environment outside the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import pytest

import likewise

ROOT = Path(__file__).parent.parent


def test_the_citation_has_the_version_of_the_package() -> None:
    found = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M)
    assert found is not None
    assert found[1] == likewise.__version__


@pytest.mark.once
@pytest.mark.skipif(find_spec("build") is None, reason="build is not installed: pip install -e '.[dev]'")
def test_the_wheel_works_elsewhere(tmp_path: Path) -> None:
    source, dist, place = tmp_path / "source", tmp_path / "dist", tmp_path / "new"
    source.mkdir()
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), str(source)], tmp_path)
    (wheel,) = dist.glob("*.whl")
    (archive,) = dist.glob("*.tar.gz")
    assert wheel.name.startswith(f"likewise-{likewise.__version__}-")
    assert archive.name == f"likewise-{likewise.__version__}.tar.gz"

    run([sys.executable, "-m", "venv", "--without-pip", str(place)], tmp_path)
    bin_ = place / ("Scripts" if os.name == "nt" else "bin")
    pip = [sys.executable, "-m", "pip", "--python", str(bin_ / "python")]
    run([*pip, "install", "--no-deps", "--no-index", str(wheel)], tmp_path)
    (packages,) = place.rglob("site-packages")
    outer = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "outer.pth").write_text("\n".join(sorted(outer)))  # torch and the rest, which take minutes to install

    show = "import likewise; print(likewise.__file__, likewise.__version__)"
    said = run([str(bin_ / "python"), "-c", show], tmp_path)
    file, version = said.split()
    assert Path(file).is_relative_to(place)
    assert version == likewise.__version__
    assert files_in(ROOT / "src" / "likewise") == files_in(packages / "likewise")  # recipes, templates, py.typed, ...
    said = run([str(bin_ / "likewise"), "demo", "--epochs", "2", "--out", "demo"], tmp_path)
    assert "report.html" in said
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000


def run(command: list[str], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files_in(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}
