"""How large the house is, and how long the way through it: `make house`, or `python benchmarks/house.py`.

Prints one table: source files and their lines, modules that a single other module imports, and the way from `likewise
fit` to the optimizer's step and to the gradient of the criterion. The way is measured, not read: a small fit runs under
`sys.setprofile`, and when the step begins, the frames of likewise on the stack are counted.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import statistics
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import torch

import likewise
import likewise.cli

SOURCE = Path(likewise.__file__).parent
LONG = 350  # lines
OPTIMIZERS = str(Path(torch.optim.__file__).parent)


def lines(file: Path) -> int:
    return len(file.read_text(encoding="utf-8").splitlines())


def module_name(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(file: Path, modules: set[str]) -> set[str]:
    """The modules of likewise that a file imports, at its top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} & modules or {str(node.module)}
    return found & modules


def single_importers(files: list[Path]) -> list[tuple[str, str]]:
    """Each module that one other module imports, and that one; a room's `__init__.py` does not count as an importer."""
    modules = {module_name(file) for file in files}
    importers = defaultdict(set)
    for file in files:
        if file.name not in ("__init__.py", "__main__.py"):
            for module in imported_modules(file, modules):
                importers[module].add(module_name(file))
    return sorted((module, *names) for module, names in importers.items() if len(names) == 1)


def is_importing(frame: FrameType | None) -> bool:
    """Whether a frame runs because a module of likewise is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(SOURCE)):
            return True
        frame = frame.f_back
    return False


class Arrived(BaseException):
    """Raised out of the profiled fit once there is nothing left to see."""


class Way:
    """The functions of likewise on the stack, and the files in which a function ran, when a place was first reached."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.stacks: dict[str, list[CodeType]] = {}
        self.files_run: dict[str, int] = {}

    def see(self, frame: FrameType, event: str, argument: Any) -> None:
        """The function for `sys.setprofile`."""
        if event != "call":
            return
        code = frame.f_code
        ours = code.co_filename.startswith(str(SOURCE))
        if ours and code.co_filename not in self.ran and not is_importing(frame):
            self.ran.add(code.co_filename)
        if code.co_name == "step" and code.co_filename.startswith(OPTIMIZERS):
            self.arrive("optimizer.step", frame)
        elif ours and code.co_name == "gradient" and Path(code.co_filename).parent.name == "criteria":
            self.arrive("the criterion's gradient", frame)

    def arrive(self, place: str, frame: FrameType | None) -> None:
        if place in self.stacks:
            return
        stack = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(str(SOURCE)):
                stack.append(frame.f_code)
            frame = frame.f_back
        self.stacks[place] = stack[::-1]
        self.files_run[place] = len(self.ran)
        if len(self.stacks) == 2:
            sys.setprofile(None)
            raise Arrived


def small_task(folder: Path) -> list[str]:
    """The arguments of a fit of items that do not show their classes, so that the criterion learns from the answers."""
    rng = np.random.default_rng(0)
    np.save(folder / "items.npy", rng.normal(size=(120, 6)).astype(np.float32))
    classes = rng.integers(2, size=120)
    pairs = np.stack([rng.permutation(120)[:2] for _ in range(150)])
    rows = (f"{a},{b},{int(classes[a] == classes[b])}" for a, b in pairs)
    (folder / "answers.csv").write_text("\n".join(["left,right,same", *rows]) + "\n")
    given = [str(folder / "items.npy"), "--pairs", str(folder / "answers.csv")]
    return ["fit", *given, "--classes", "2", "--epochs", "1", "--out", str(folder / "run")]


def measure_way() -> Way:
    way = Way()
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["likewise", *small_task(Path(folder))]
        silence = io.StringIO()
        old = sys.argv
        sys.argv = arguments
        sys.setprofile(way.see)
        try:
            with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
                likewise.cli.main()
        except Arrived:
            pass
        except SystemExit as end:
            raise SystemExit(f"The fit ended ({end}) before it reached a gradient:\n{silence.getvalue()}") from end
        finally:
            sys.setprofile(None)
            sys.argv = old
    return way


def row(name: str, value: object) -> None:
    print(f"{name:<58} {value:>8}")


def main() -> None:
    torch.set_num_threads(1)
    files = sorted(SOURCE.rglob("*.py"))
    lengths = {file: lines(file) for file in files}
    row("source files", len(files))
    row("lines", sum(lengths.values()))
    row("median lines of a file", round(statistics.median(lengths.values())))
    row(f"files over {LONG} lines", sum(length > LONG for length in lengths.values()))
    for file, length in sorted(lengths.items(), key=lambda entry: -entry[1])[:5]:
        row(f"  {file.relative_to(SOURCE)}", length)
    singles = single_importers(files)
    beside = [pair for pair in singles if pair[0].rpartition(".")[0] == pair[1].rpartition(".")[0]]
    row("modules with a single importer", len(singles))
    row("  beside it", len(beside))
    way = measure_way()
    for place in sorted(way.stacks, reverse=True):
        stack = way.stacks[place]
        row(f"from likewise fit to {place}: functions", len(stack))
        row("  files on the stack", len({code.co_filename for code in stack}))
        row("  files run on the way", way.files_run[place])
    if "--all" in sys.argv:
        for room, count in sorted(Counter(file.relative_to(SOURCE).parts[0] for file in files).items()):
            row(f"files in {room}", count)
        for module, importer in singles:
            print(f"{module} is imported by {importer} alone")
        for place, stack in way.stacks.items():
            print(f"\nThe way to {place}:")
            for code in stack:
                print(f"  {os.path.relpath(code.co_filename, SOURCE)}: {code.co_qualname}")


if __name__ == "__main__":
    main()
