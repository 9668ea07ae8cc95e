"""How far a download has come: a bar on a terminal, a line every tenth of the way elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

# Told how many bytes are there, and of how many (None where the server does not say).
Report = Callable[[int, int | None], None]


@contextmanager
def download_progress(name: str, console: Console) -> Iterator[Report]:
    """A context whose value is called with the bytes so far and the bytes in all."""
    if not console.is_terminal:
        yield _plain_lines(name, console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console) as bar:
        task = bar.add_task(name, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _plain_lines(name: str, console: Console) -> Report:
    said = 0

    def report(done: int, total: int | None) -> None:
        nonlocal said
        tenth = 10 * done // total if total else 0
        if tenth != said:  # smaller than what was said when a download starts anew
            said = tenth
            if total:
                console.print(f"{name}: {done / 1e6:.1f} of {total / 1e6:.1f} MB", soft_wrap=True, highlight=False)

    return report
