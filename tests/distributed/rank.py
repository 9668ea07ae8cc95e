"""What one process of a test runs: a function of the test's file, as rank `RANK` of `WORLD_SIZE`."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import torch


def run(file: str, name: str, folder: Path, arguments: tuple[Any, ...]) -> None:
    from likewise.distributed import join, leave

    torch.set_num_threads(1)
    function = runpy.run_path(file)[name]
    join(init_method=f"file://{folder}/meeting")
    result = function(*arguments)
    torch.save(result, folder / f"rank-{os.environ['RANK']}.pt")
    leave()


if __name__ == "__rank__":
    os.environ |= globals()["ENVIRONMENT"]
    run(*globals()["JOB"])
