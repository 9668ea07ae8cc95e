"""How long millions of answers take to load, close and check, and how much memory.

The answers are of a person who is wrong once in 100,000 times about photos of ten classes: enough that all ten grow
together into one component, with contradictions wherever one looks.

`python -m likewise.benchmarks.pairs FILE` measures the steps on a file, in a process of its own, and prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from likewise.benchmarks.measure import MEBIBYTE, Outcome, peak_bytes
from likewise.pairs import Pairs, summarise

Result = TypeVar("Result")

N_ANSWERS = 10_000_000
ANSWERS_PER_ITEM = 10
N_CLASSES = 10
MISTAKES = 1e-5
AT_MOST = {"seconds": 30.0, "MiB": 4096.0}  # of all steps together


@dataclass(frozen=True)
class Step:
    """What one step took; the memory is the most that the process had until its end."""

    name: str
    seconds: float
    cpu_seconds: float  # of all threads: what the machine does besides does not count
    peak_mebibytes: float


def write_answers(path: Path, n_answers: int, seed: int = 0) -> None:
    """Write random pairs of distinct photos and whether they share a class to a CSV file."""
    random = np.random.default_rng(seed)
    n_items = max(n_answers // ANSWERS_PER_ITEM, 2)
    ids = [f"photos/{item:08}.jpg" for item in range(n_items)]
    classes = random.integers(N_CLASSES, size=n_items)
    left = random.integers(n_items, size=n_answers)
    right = (left + random.integers(1, n_items, size=n_answers)) % n_items
    same = (classes[left] == classes[right]) ^ (random.random(n_answers) < MISTAKES)
    Pairs.from_arrays(np.stack([left, right], axis=1), same, ids=ids).write_csv(path)


def measure(path: Path) -> list[Step]:
    """Load, close and check the answers of a file, in this process."""
    steps = []

    def run(name: str, call: Callable[[], Result]) -> Result:
        started, cpu_started = time.perf_counter(), time.process_time()
        result = call()
        took, cpu_took = time.perf_counter() - started, time.process_time() - cpu_started
        steps.append(Step(name, round(took, 3), round(cpu_took, 3), round(peak_bytes() / MEBIBYTE, 1)))
        return result

    pairs = run("load", lambda: Pairs.read_csv(path))
    run("close", pairs.closure)
    run("check", lambda: summarise(pairs))
    return steps


def measure_alone(path: Path) -> list[Step]:
    """The same in a process of its own, which begins with little memory."""
    command = [sys.executable, "-m", "likewise.benchmarks.pairs", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return [Step(**step) for step in json.loads(done.stdout)]


def judge(n_answers: int, steps: Sequence[Step]) -> list[tuple[str, float, str]]:
    """Each bar with what was measured and the verdict; the bars are for ten million answers."""
    measured = (sum(step.seconds for step in steps), max(step.peak_mebibytes for step in steps))
    verdicts = []
    for (name, most), value in zip(AT_MOST.items(), measured, strict=True):
        verdict = "not measured" if n_answers < N_ANSWERS else "pass" if value <= most else "miss"
        verdicts.append((f"{N_ANSWERS:,} answers, {name} at most {most:g}", round(value, 3), verdict))
    return verdicts


def record(n_answers: int, steps: Sequence[Step]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    from likewise.storage.records import machine

    return {
        **machine(),
        "answers": n_answers,
        "items": max(n_answers // ANSWERS_PER_ITEM, 2),
        "steps": [asdict(step) for step in steps],
        "bars": [
            {"bar": bar, "measured": value, "verdict": verdict} for bar, value, verdict in judge(n_answers, steps)
        ],
    }


def report(n_answers: int, steps: Sequence[Step]) -> Iterator[str]:
    """The lines to print: the steps and then the bars."""
    yield f"{'':<6} {'seconds':>8} {'of CPU':>8} {'MiB':>8}"
    for step in steps:
        yield f"{step.name:<6} {step.seconds:>8.2f} {step.cpu_seconds:>8.2f} {step.peak_mebibytes:>8.0f}"
    for bar, value, verdict in judge(n_answers, steps):
        yield f"{verdict:<12} {bar}: {value:g}"


def run(answers: int) -> Outcome:
    """Make up so many answers and measure."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.csv"
        write_answers(file, answers)
        steps = measure_alone(file)
    return record(answers, steps), report(answers, steps)


if __name__ == "__main__":
    print(json.dumps([asdict(step) for step in measure(Path(sys.argv[1]))]))
