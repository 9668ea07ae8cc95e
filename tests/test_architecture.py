"""The map of the rooms: imports point one way, also inside a room, and the command answers before torch is loaded."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from graphlib import CycleError, TopologicalSorter
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
    {"querying"},
    {"labelling"},
    {"reporting", "benchmarks"},
    {"paper"},
    {"cli"},
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}

# The same for the files of a room that is built in layers; the files of every other room import in some order too.
INSIDE = {
    "storage": [{"atomic_files", "csv_records"}, {"records"}, {"run_folder"}],
    "distributed": [{"world"}, {"collectives"}],
    "criteria": [
        {"targets"},
        {"tables", "fused"},
        {"joint"},
        {"mcl", "kcl"},
        {"wrong_answers"},
    ],
    "landscape": [{"surface"}, {"job", "blocks"}, {"grid"}, {"compute"}],
}

FILES = sorted(SOURCE.rglob("*.py"))
MODULES = {".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__") for file in FILES}


def names_imported(source: str, *, when_loaded: bool = False) -> Iterator[str]:
    """Dotted names under likewise that code imports, in whatever way; `when_loaded`: at the top of its file alone."""
    tree = ast.parse(source)
    for node in _at_the_top(tree.body) if when_loaded else ast.walk(tree):
        names: Iterable[str] = ()
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("import_module", "importlib.import_module"):
            names = [_beginning(node.args[0])]
        yield from (name for name in names if name.split(".")[0] in ("likewise", ""))


def _at_the_top(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from _at_the_top([*node.body, *node.orelse])
        yield node


def _beginning(text: ast.expr) -> str:
    """What a string begins with, as far as it is written out."""
    if isinstance(text, ast.JoinedStr) and text.values:
        text = text.values[0]
    return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else "unknown"


def refusals(file: str, source: str) -> list[str]:
    """What is wrong with the imports of a file, whose path is relative to src/likewise."""
    room = Path(file).parts[0].removesuffix(".py")
    wrong = []
    for name in names_imported(source):
        _, _, inner = name.partition(".")
        imported = inner.split(".")[0]
        if imported not in (*LEVEL, "__version__"):
            wrong.append(f"{file} imports {name}: import from a room by its full name")
        elif imported != "__version__" and imported != room and LEVEL[imported] >= LEVEL[room]:
            wrong.append(f"{file} imports likewise.{imported}")
    return wrong


def test_the_map_has_every_room() -> None:
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith("_")}
    assert rooms - {"py.typed"} == set(LEVEL)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SOURCE)))
def test_imports_point_one_way(file: Path) -> None:
    name = str(file.relative_to(SOURCE))
    if not name.startswith("__"):
        assert refusals(name, file.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "from likewise.training import train",
        "def late():\n    import likewise.training.loop",
        "from likewise import training",
        "import likewise\nlikewise.PairClassifier",
        "from likewise import PairClassifier",
        "from .. import training",
        "from importlib import import_module\nimport_module('likewise.training.loop')",
        "import importlib\nimportlib.import_module(f'likewise.training.{name}')",
    ],
)
def test_every_way_to_import_is_seen(source: str) -> None:
    assert len(refusals("pairs/pairs.py", source)) == 1
    assert refusals("pairs/pairs.py", "from likewise import __version__\nfrom likewise.errors import InputError") == []


@pytest.mark.parametrize("room", sorted(path.name for path in SOURCE.iterdir() if list(path.glob("[!_]*.py"))))
def test_files_of_a_room_import_in_one_order(room: str) -> None:
    graph = {}
    for file in (SOURCE / room).rglob("*.py"):
        if file.name == "__init__.py":
            continue
        name = ".".join(file.relative_to(SOURCE / room).with_suffix("").parts)
        found = names_imported(file.read_text(encoding="utf-8"), when_loaded=True)
        inner = {each if each in MODULES else each.rpartition(".")[0] for each in found}
        graph[name] = {each.removeprefix(f"likewise.{room}.") for each in inner if each.startswith(f"likewise.{room}.")}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        pytest.fail(f"{room}: {' <- '.join(cycle.args[1])}")
    level = {name: number for number, names in enumerate(INSIDE.get(room, ())) for name in names}
    assert not level or set(level) == set(graph)
    for name in level:
        assert all(level[other] < level[name] for other in graph[name] if other in level), f"{room}/{name}.py"


def test_every_room_has_a_folder_of_tests() -> None:
    folders = {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()}
    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and list(path.glob("[!_]*.py"))} <= folders


def test_the_command_line_does_not_wait_for_torch() -> None:
    script = "import sys, likewise.cli; sys.exit(bool({'torch', 'numpy', 'jinja2', 'matplotlib'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/algorithms.md"])
def test_every_file_that_a_map_names_is_there(page: str) -> None:
    repository = Path(__file__).parents[1]
    text = (repository / page).read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w/.-]+\.py)`", text) if "NAME" not in name}
    folders = ("src", "tests", "benchmarks", "docs")
    there = [path.as_posix() for folder in folders for path in (repository / folder).rglob("*.py")]
    assert named
    assert {name for name in named if not any(f"/{path}".endswith(f"/{name}") for path in there)} == set()
