"""How far a surface has come and how long it still takes: a bar on a terminal, ten lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from likewise.training.progress import clock

Tell = Callable[[], None]  # called after each row


@contextmanager
def row_progress(wanted: bool, rows: int, points: int) -> Iterator[Tell]:
    """For so many rows of so many points; what is given is called whenever one is done."""
    if not wanted or not rows:
        yield lambda: None
    elif sys.stdout.isatty():
        with _bar(rows, points) as tell:
            yield tell
    else:
        yield _lines(rows, points)


@contextmanager
def _bar(rows: int, points: int) -> Iterator[Tell]:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    texts = [TextColumn(text) for text in ("{task.completed}/{task.total} rows", "{task.fields[figures]}", "left")]
    with Progress(texts[0], BarColumn(), texts[1], TimeRemainingColumn(), texts[2]) as bar:
        task, started = bar.add_task("", total=rows, figures=""), time.perf_counter()
        done = 0

        def tell() -> None:
            nonlocal done
            done += 1
            bar.update(task, completed=done, figures=_speed(started, done * points))

        yield tell


def _lines(rows: int, points: int) -> Tell:
    started, done = time.perf_counter(), 0

    def tell() -> None:
        nonlocal done
        done += 1
        if done == 1 or 10 * done // rows != 10 * (done - 1) // rows:
            left = (time.perf_counter() - started) / done * (rows - done)
            print(f"{done}/{rows} rows  {_speed(started, done * points)}  {clock(left)} left", flush=True)

    return tell


def _speed(started: float, points: int) -> str:
    return f"{1000 * (time.perf_counter() - started) / points:.0f} ms a point"
