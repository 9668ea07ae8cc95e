"""The map of the rooms: imports point one way, and the command answers before torch is loaded."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import likewise

SOURCE = Path(likewise.__file__).parent

# A room may import from those on earlier lines, and from itself; rooms on one line keep apart.
ORDER = [
    {"atomic", "errors", "unknown"},
    {"storage"},
    {"distributed"},
    {"criteria", "pairs", "evaluation", "datasets"},
    {"networks", "supervision", "clustering"},
    {"training"},
    {"encoders"},
    {"estimators", "landscape"},
    {"reporting", "benchmarks"},
    {"paper"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def rooms_imported(file: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: import from likewise by its full name"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("likewise.")}
    return rooms - {"__version__"}


def test_the_map_has_every_room() -> None:
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith("_")}
    assert rooms - {"py.typed"} == set(LEVEL)


@pytest.mark.parametrize("file", sorted(SOURCE.rglob("*.py")), ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file: Path) -> None:
    room = file.relative_to(SOURCE).parts[0].removesuffix(".py")
    if room.startswith("__"):
        return
    for imported in rooms_imported(file) - {room}:
        assert LEVEL[imported] < LEVEL[room], f"{file.relative_to(SOURCE)} imports likewise.{imported}"


def test_every_room_has_a_folder_of_tests() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and list(path.glob("[!_]*.py"))} <= folders


def test_the_command_line_does_not_wait_for_torch() -> None:
    script = "import sys, likewise.cli; sys.exit(bool({'torch', 'numpy', 'jinja2', 'matplotlib'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
