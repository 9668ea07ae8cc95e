"""How far an encoder has come: a bar on a terminal, a line now and then elsewhere. Clocks are read only to show it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from likewise.storage.atomic_files import is_writer
from likewise.training.progress import clock

SPACING = 10.0  # seconds between two lines


@contextmanager
def showing(title: str, total: int, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """A context whose value is called with how many items were done since the last call."""
    if not shown or not is_writer():
        yield lambda n: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(title), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
        started, done = time.perf_counter(), 0
        with Progress(*columns, TimeRemainingColumn(), TextColumn("left"), console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=total, rate="")

            def advance(n: int) -> None:
                nonlocal done
                done += n
                bar.update(task, advance=n, rate=f"{done / (time.perf_counter() - started):.0f} items/s")

            yield advance
    else:
        yield _lines(title, total)


def _lines(title: str, total: int) -> Callable[[int], None]:
    started = last = time.perf_counter()
    done = 0

    def advance(n: int) -> None:
        nonlocal done, last
        done += n
        now = time.perf_counter()
        if now - last >= SPACING and done < total:
            last = now
            rate = done / (now - started)
            left = clock((total - done) / rate)
            print(f"{title}: {done:,} of {total:,}  {rate:.0f} items/s  {left} left", file=sys.stderr, flush=True)

    return advance
