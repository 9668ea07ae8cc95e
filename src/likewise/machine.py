"""What a figure was made with: the versions, the processor and the threads, to stand beside it in every record."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

import torch


def machine() -> dict[str, str | int]:
    """What a run was made with."""
    return {
        "likewise": version("likewise"),
        "torch": torch.__version__,
        "cpu": cpu_model(),
        "threads": torch.get_num_threads(),
    }


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
