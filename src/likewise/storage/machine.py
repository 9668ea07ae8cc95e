"""The machine of a measurement: versions, processor and threads; and how much memory there is."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

import torch


def machine() -> dict[str, str | int]:
    """The versions, the processor and the threads of a run."""
    return {
        "likewise": version("likewise"),
        "torch": torch.__version__,
        "cpu": cpu_model(),
        "threads": torch.get_num_threads(),
    }


LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))  # of a container


def memory() -> int | None:
    """The bytes of memory that a process may use: the machine's, or a container's limit; None where nobody says."""
    if sys.platform == "win32":
        return None
    limits = [path.read_text().strip() for path in LIMITS if path.exists()]
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([there, *(int(limit) for limit in limits if limit.isdecimal())])


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
