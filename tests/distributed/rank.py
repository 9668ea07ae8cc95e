"""What one process of a test runs: a function of the test's file, as rank `RANK` of `WORLD_SIZE`."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import torch

from likewise.distributed import World, join, leave


def all_have(joined: World) -> None:
    """Wait for every rank: one that ends early would cut off another that is still connecting to it."""
    store = torch.distributed.distributed_c10d._get_default_store()
    store.set(f"rank {joined.rank} has joined", "")
    store.wait([f"rank {rank} has joined" for rank in range(joined.size)])


def run(file: str, name: str, folder: Path, arguments: tuple[Any, ...]) -> None:
    torch.set_num_threads(1)
    function = runpy.run_path(file)[name]
    all_have(join(init_method=f"file://{folder}/meeting"))
    result = function(*arguments)
    torch.save(result, folder / f"rank-{os.environ['RANK']}.pt")
    leave()


if __name__ == "__rank__":
    os.environ |= globals()["ENVIRONMENT"]
    run(*globals()["JOB"])
