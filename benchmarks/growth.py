"""What each command costs, in time and memory, and how the cost grows when one thing becomes ten times as much.

A cost c + d n^e is measured at n, sqrt(10) n and 10 n, and the two steps between the three give e, whatever c is: what
a command costs before it has seen its first item does not hide how it grows.

    e = 2 log10 (cost(10 n) - cost(sqrt(10) n)) / (cost(sqrt(10) n) - cost(n))
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.synthetic import MadeUp

COSTS = ("cpu_seconds", "mebibytes")
NOISE = 0.1  # of the first cost: a difference of less means nothing
SLACK = 0.5  # half way from linear to quadratic: three sizes measure an exponent no better than to a few tenths

Arguments = Callable[[Path, int], list[object]]


@dataclass(frozen=True)
class Budget:
    """What a command may cost: how it may grow with one thing, and the most at ten times the first size."""

    command: str
    against: str
    first: int
    exponents: dict[str, float]  # of cpu_seconds and mebibytes
    most: dict[str, float]  # at 10 times the first size
    arguments: Arguments  # folder, size -> what to type; makes the files

    @property
    def sizes(self) -> tuple[int, int, int]:
        return self.first, round(math.sqrt(10) * self.first), 10 * self.first

    @property
    def name(self) -> str:
        return f"{self.command}, {self.against}"

    def kept(self, name: str, costs: Sequence[float]) -> tuple[bool, bool]:
        """Whether a cost grew as it may, and was as much as it may be."""
        return exponent(costs) <= self.exponents[name] + SLACK, costs[2] <= self.most[name]


@dataclass(frozen=True)
class Growth:
    """What was measured: the costs at the three sizes."""

    command: str
    against: str
    sizes: tuple[int, int, int]
    cpu_seconds: tuple[float, ...]
    mebibytes: tuple[float, ...]


def exponent(costs: Sequence[float]) -> float:
    """The e of a cost c + d n^e, from n, sqrt(10) n and 10 n; 0 where the cost hardly grows.

    >>> round(exponent([7 + 2 * 100**1.5, 7 + 2 * 1000**0.75 * 100**0.75, 7 + 2 * 1000**1.5]), 2)
    1.5
    """
    noise = NOISE * costs[0]
    if costs[2] - costs[0] < noise:
        return 0.0
    first, second = (max(after - before, noise / 4) for before, after in pairwise(costs))
    return max(0.0, 2 * math.log10(second / first))


def measure(budgets: Sequence[Budget]) -> Iterator[Growth]:
    """Each command at its three sizes, in a process of its own each time."""
    for budget in budgets:
        costs = []
        for size in budget.sizes:
            with tempfile.TemporaryDirectory() as folder:
                costs.append(cost_of(budget.arguments(Path(folder), size), Path(folder)))
        seconds, memory = (tuple(cost[name] for cost in costs) for name in COSTS)
        yield Growth(budget.command, budget.against, budget.sizes, seconds, memory)


def cost_of(arguments: Sequence[object], folder: Path) -> dict[str, float]:
    """The CPU seconds and MiB of one command."""
    file = folder / "cost.json"
    command = [sys.executable, "-m", "benchmarks.metered", str(file), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    cost: dict[str, float] = json.loads(file.read_text(encoding="utf-8"))
    return cost


def judge(budget: Budget, growth: Growth) -> Iterator[tuple[str, float, float, str]]:
    """What was promised, what was measured, the promise as a number, and the verdict."""
    for name in COSTS:
        costs = getattr(growth, name)
        verdicts = ["pass" if kept else "miss" for kept in budget.kept(name, costs)]
        yield f"exponent of {name}", round(exponent(costs), 2), budget.exponents[name], verdicts[0]
        yield f"{name} at {growth.sizes[2]:,}", costs[2], budget.most[name], verdicts[1]


def record(budgets: Sequence[Budget], found: Sequence[Growth]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    from likewise.storage.records import machine

    return {
        **machine(),
        "growth": [
            {
                **asdict(growth),
                "bars": [
                    {"bar": bar, "measured": value, "stated": stated, "verdict": verdict}
                    for bar, value, stated, verdict in judge(budget, growth)
                ],
            }
            for budget, growth in zip(budgets, found, strict=True)
        ],
    }


def report(budget: Budget, growth: Growth) -> Iterator[str]:
    """The lines to print of one command."""
    sizes = ", ".join(f"{size:,}" for size in growth.sizes)
    yield f"{budget.name} ({sizes}): {growth.cpu_seconds} s of CPU, {growth.mebibytes} MiB"
    for bar, value, stated, verdict in judge(budget, growth):
        yield f"  {verdict:<5} {bar}: {value:g}, stated {stated:g}"


def _fit(folder: Path, made: MadeUp, n_answers: int, *further: object) -> list[object]:
    paths = (made.items(), "--pairs", made.answers(n_answers), "--classes", made.n_classes, "--out", folder / "run")
    return ["fit", *paths, *(further or ("--epochs", 2))]


def _fitted(folder: Path) -> Path:
    """A run to predict with, report on and so forth; what it cost is not counted."""
    cost_of(_fit(folder, MadeUp(folder, 1000), 3000), folder)
    return folder / "run"


def _discover(folder: Path, n_pile: int) -> list[object]:
    known, pile = MadeUp(folder, 1200, 40).items(labelled=True), MadeUp(folder, n_pile, 10, seed=5).items()
    few = ("--similarity-epochs", 5, "--epochs", 1)
    return ["discover", "--known", known, "--unknown", pile, "--out", folder / "run", *few]


def _cluster(folder: Path, made: MadeUp, n_answers: int) -> list[object]:
    answers = ("--pairs", made.answers(n_answers)) if n_answers else ()
    method = "mpck-means" if n_answers else "k-means"
    return ["cluster", made.items(), "--method", method, *answers, "--classes", 10, "--out", folder / "clusters.csv"]


def _report(folder: Path, n_items: int) -> list[object]:
    cost_of(_fit(folder, MadeUp(folder, n_items), 3000, "--epochs", 1), folder)
    return ["report", folder / "run"]


def _landscape(folder: Path, items: int, grid: int) -> list[object]:
    cost_of(_fit(folder, MadeUp(folder, max(1000, items)), 3000, "--epochs", 1), folder)
    losses = ("--loss", "mcl,kcl", "--n-items", items, "--grid", grid)
    return ["landscape", folder / "run", *losses, "--out", folder / "surface.npz"]


def _both(seconds: float, mebibytes: float) -> dict[str, float]:
    return {"cpu_seconds": seconds, "mebibytes": mebibytes}


BUDGETS = (
    Budget(
        "check",
        "answers",
        1_000_000,
        _both(1, 1),
        _both(60, 3000),
        lambda folder, n: ["check", MadeUp(folder, n // 10).answers(n)],
    ),
    Budget(
        "fit",
        "items",
        50_000,
        _both(1, 1),
        _both(240, 2500),
        lambda folder, n: _fit(folder, MadeUp(folder, n), 5000, "--epochs", 1, "--batch-size", 500),
    ),
    Budget(
        "fit",
        "answers",
        300_000,
        _both(1, 1),
        _both(120, 3000),
        lambda folder, n: _fit(folder, MadeUp(folder, 20_000), n, "--epochs", 1),
    ),
    Budget(
        "fit",
        "classes",
        10,
        _both(1, 1),
        _both(60, 1000),
        lambda folder, n: _fit(folder, MadeUp(folder, 10_000, n), 20_000),
    ),
    Budget(
        "fit",
        "batch, 30 to an epoch",
        300,
        _both(2, 2),  # all pairs of a batch are looked at
        _both(120, 2500),
        lambda folder, n: _fit(folder, MadeUp(folder, 30 * n, 3), 60 * n, "--epochs", 1, "--batch-size", n),
    ),
    Budget(
        "semi",
        "items",
        20_000,
        _both(1, 1),
        _both(120, 1500),
        lambda folder, n: [
            *("semi", MadeUp(folder, n).items(), "--labels", MadeUp(folder, n).labels(100)),
            *("--out", folder / "run", "--epochs", 3),
        ],
    ),
    Budget("discover", "items below 4,000", 400, _both(2, 2), _both(120, 1500), _discover),
    Budget("discover", "items above 4,000", 4000, _both(1, 1), _both(240, 2000), _discover),
    Budget(
        "predict",
        "items",
        20_000,
        _both(1, 1),
        _both(60, 800),
        lambda folder, n: ["predict", _fitted(folder), MadeUp(folder, n).items(), "--out", folder / "classes.csv"],
    ),
    Budget(
        "name",
        "labels",
        100,
        _both(1, 1),
        _both(30, 800),
        lambda folder, n: ["name", _fitted(folder), "--labels", MadeUp(folder, 1000).labels(n)],
    ),
    Budget("report", "items", 3000, _both(1, 1), _both(60, 1000), _report),
    Budget(
        "cluster --method k-means",
        "items",
        5000,
        _both(1, 1),
        _both(60, 1000),
        lambda folder, n: _cluster(folder, MadeUp(folder, n), 0),
    ),
    Budget(
        "cluster --method mpck-means",
        "answers",
        5000,
        _both(1, 1),
        _both(60, 1000),
        lambda folder, n: _cluster(folder, MadeUp(folder, 2000), n),
    ),
    Budget(
        "landscape", "items", 500, _both(1, 1), _both(60, 1000), lambda folder, n: _landscape(folder, items=n, grid=15)
    ),
    Budget(
        "landscape",
        "points a side",
        9,
        _both(2, 1),
        _both(120, 1000),
        lambda folder, n: _landscape(folder, items=200, grid=n),
    ),
)
