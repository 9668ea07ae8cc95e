"""Processes that meet in a file, one thread each; a server forks them, so that torch is loaded once."""

from __future__ import annotations

import multiprocessing
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

Ranks = Callable[..., list[Any]]

PRELOADED = ["torch._dynamo", "torch.distributed.nn", "pytest", "likewise.training", "likewise.supervision.semi"]
RANK = Path(__file__).parent / "rank.py"
PATIENCE = 300  # seconds until a test that hangs is ended


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def in_ranks(tmp_path: Path) -> Ranks:
    """Call a function of the test's file in so many processes at once; gives what each of them returned."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)  # DistributedDataParallel loads torch._dynamo
    calls = iter(range(100))

    def call(size: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        folder = tmp_path / f"call-{next(calls)}"
        folder.mkdir()
        job = (function.__code__.co_filename, function.__name__, folder, arguments)
        processes = []
        for rank in range(size):
            settings = {"ENVIRONMENT": {"RANK": str(rank), "WORLD_SIZE": str(size)}, "JOB": job}
            told = {"init_globals": settings, "run_name": "__rank__"}
            processes.append(context.Process(target=runpy.run_path, args=(str(RANK),), kwargs=told))
        for process in processes:
            process.start()
        for process in processes:
            process.join(PATIENCE)
        codes = [process.exitcode for process in processes]
        for process in processes:
            process.kill()
        assert codes == [0] * size
        return [torch.load(folder / f"rank-{rank}.pt", weights_only=False) for rank in range(size)]

    return call
