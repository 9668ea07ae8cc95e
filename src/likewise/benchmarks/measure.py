"""Time and memory of calls side by side: what is to be compared is measured in turns, so that drift hits all alike."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from likewise.errors import InputError

if sys.platform != "win32":  # Windows has no such module
    import resource

Call = Callable[[], object]
Outcome = tuple[Mapping[str, object], Iterable[str]]  # of a benchmark: its record for a JSON file, the lines to print

MEBIBYTE, GIBIBYTE = 2**20, 2**30


def seconds(call: Call) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def warm_up(call: Call, slow: float = 0.5) -> float:
    """Run a call for what is done only once, and again for the seconds it takes; a slow one is run once alone."""
    first = seconds(call)
    return seconds(call) if first < slow else first


def side_by_side(calls: Mapping[str, Call], repeats: Mapping[str, int]) -> dict[str, list[float]]:
    """Seconds of each run of each call, in rounds; who has fewer repeats than others sits out rounds, evenly.

    >>> said = []
    >>> calls = {"a": lambda: said.append("a"), "b": lambda: said.append("b")}
    >>> times = side_by_side(calls, {"a": 4, "b": 2})
    >>> "".join(said), len(times["a"]), len(times["b"])
    ('abaaba', 4, 2)
    """
    rounds = max(repeats.values())
    times: dict[str, list[float]] = {name: [] for name in calls}
    for turn in range(rounds):
        for name, call in calls.items():
            if turn * repeats[name] % rounds < repeats[name]:
                times[name].append(seconds(call))
    return times


def added_mebibytes(call: Call) -> float:
    """By how much a call raises the peak of this process's memory; meant for a process that runs nothing else."""
    before = peak_bytes()
    call()
    return (peak_bytes() - before) / MEBIBYTE


def mebibytes_alone(module: str, *arguments: str) -> float | None:
    """What `python -m module arguments` prints as its added memory; None where the system killed it for its memory."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == -9:  # SIGKILL
        return None
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return float(done.stdout)


def available_bytes() -> int:
    """Memory that a process can still take, as far as the system says."""
    information = Path("/proc/meminfo")
    if information.exists():
        return _kibibytes(information, "MemAvailable") * 1024
    if sys.platform == "win32":
        raise InputError("Memory is measured on Linux and macOS only; run the benchmark there.")
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def peak_bytes() -> int:
    """The most memory this process had at any moment.

    Not ru_maxrss where there is another way: Linux lets a process inherit it from the one that started it.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return _kibibytes(status, "VmHWM") * 1024
    assert sys.platform != "win32"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _kibibytes(path: Path, name: str) -> int:
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise RuntimeError(f"{path} has no line {name}.")
