"""One command in several processes: started by torchrun, or on one machine by the command itself with --processes.

The processes meet as torchrun's do, at a store that the parent keeps at a port the system chose. They are not started
by torch's launcher, which moves them out of reach of Ctrl-C and ends those that are still at work 30 seconds after one
failed or was interrupted: a step and its checkpoint may take longer, and each is to say why it ends.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import typer

from likewise.errors import InputError

T = TypeVar("T")

PARENT = "LIKEWISE_PARENT"  # the process that started this one
GRACE = 5.0  # seconds that the other processes have to end by themselves after one has failed
LOST = (
    "another process of this job died, or did not answer in time, so the run stopped. "
    "Run the same command again to resume from the last checkpoint."
)


def rank_and_size() -> tuple[int, int]:
    """What torchrun, or `start`, has put into the environment."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def take_part(processes: int = 1, sync_batch_norm: bool = False) -> None:
    """Join the job that this process was started for; or with --processes start one, and end with it."""
    size = rank_and_size()[1]
    if size == 1:
        if processes > 1:
            raise typer.Exit(start(processes))
        return
    if processes not in (1, size):
        raise InputError(f"--processes is {processes}, but torchrun has started {size}; leave --processes out.")
    if PARENT in os.environ:
        end_with(int(os.environ[PARENT]))
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # torch's own hints are not for users of this command

    from likewise.distributed import join

    join(sync_batch_norm=sync_batch_norm)


def end_with(parent: int) -> None:
    """End this process as soon as the one that started it is gone, however that ended."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def dealt_out(rows: Sequence[T], key: Callable[[T], Hashable]) -> list[T]:
    """The rows of a table that this process runs; rows with the same key share a folder and stay together.

    >>> dealt_out(["a1", "b1", "a2"], key=lambda row: row[0])
    ['a1', 'b1', 'a2']
    """
    rank, size = rank_and_size()
    place = {name: number % size for number, name in enumerate(dict.fromkeys(map(key, rows)))}
    return [row for row in rows if place[key(row)] == rank]


@contextmanager
def quiet_unless_first() -> Iterator[None]:
    """Inside, what processes other than the first print goes nowhere."""
    if rank_and_size()[0] == 0:
        yield
        return
    stdout = sys.stdout
    with open(os.devnull, "w", encoding="utf-8") as sys.stdout:  # noqa: PTH123 - Path.open cannot be a target here
        try:
            yield
        finally:
            sys.stdout = stdout


def start(processes: int) -> int:
    """Run this same command in so many processes; gives their exit code, and says so where one of them was killed."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)  # to be kept while they run
    shared = os.environ | {"WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port)}
    shared |= {"TORCHELASTIC_USE_AGENT_STORE": "True", "TORCHELASTIC_RESTART_COUNT": "0", PARENT: str(os.getpid())}
    shared.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
    command = [sys.executable, "-m", "likewise", *sys.argv[1:]]
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    started: list[subprocess.Popen[bytes]] = []
    try:
        for rank in range(processes):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            started.append(subprocess.Popen(command, env=shared | own))
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # they have it too, finish their step and end
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        failed = _first_failure(started)
    finally:
        _end(started)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if failed is None:
        return 0
    rank, code = failed
    if code > 0:
        return code
    name = signal.Signals(-code).name
    typer.echo(
        f"likewise: process {rank + 1} of {processes} was killed ({name}), and the others were stopped. "
        "Run the same command again to resume from the last checkpoint.",
        err=True,
    )
    return 1


def _first_failure(started: Sequence[subprocess.Popen[bytes]]) -> tuple[int, int] | None:
    """Wait for all to end; the rank and the exit code of the first that failed, after the others' time of grace.

    One that was killed comes before those that failed because of it.
    """
    failed: tuple[int, int] | None = None
    deadline = float("inf")
    while any(process.poll() is None for process in started) and time.monotonic() < deadline:
        time.sleep(0.05)
        codes = [process.poll() for process in started]
        if failed is None and any(codes):
            deadline = time.monotonic() + GRACE
        failed = failed or next(((rank, code) for rank, code in enumerate(codes) if code), None)
    codes = [process.poll() for process in started]
    killed = next(((rank, code) for rank, code in enumerate(codes) if code is not None and code < 0), None)
    return killed or failed or next(((rank, code) for rank, code in enumerate(codes) if code), None)


def _end(started: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
