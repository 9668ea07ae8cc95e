"""What a run shows while it works: a bar on a terminal, one line an epoch elsewhere, nothing when not wanted."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

    from likewise.training.checkpoint import State

REFRESH = 0.5  # seconds between two looks at the figures; matching outputs to classes is not free

SHOWN = ("epoch", "learning_rate", "loss", "accuracy")  # the columns that are not the caller's own


class Silent:
    """Shows nothing; the other two say the same things aloud."""

    def __init__(self, epochs: int, steps_per_epoch: int, state: State) -> None:
        self.epochs, self.steps_per_epoch = epochs, steps_per_epoch
        self.items_before, self.steps_before = state.items, state.epoch * steps_per_epoch + state.step
        self.started = time.perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def step(self, state: State) -> None:
        """After every step."""

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        """After every epoch, with its row of the history."""

    def figures(self, loss: float, accuracy: float, items: int) -> str:
        rate = (items - self.items_before) / max(time.perf_counter() - self.started, 1e-9)
        known = "" if math.isnan(accuracy) else f"  ACC {100 * accuracy:.2f} %"
        return f"loss {loss:.4f}{known}  {rate:.0f} images/s"


class Lines(Silent):
    """One line an epoch, for files and pipes."""

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        figures = self.figures(row["loss"], row.get("accuracy", math.nan), state.items)
        done = state.items - self.items_before
        ahead = state.items / state.epoch * (self.epochs - state.epoch)
        left = (time.perf_counter() - self.started) / max(done, 1) * ahead
        others = "".join(f"  {name} {value:.4g}" for name, value in row.items() if name not in SHOWN)
        print(f"epoch {state.epoch}/{self.epochs}  {figures}{others}  {clock(left)} left", flush=True)


class Bar(Silent):
    """One bar over all steps, with the figures of the epoch at hand."""

    def __enter__(self) -> Self:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        texts = [TextColumn(text) for text in ("{task.description}", "{task.fields[figures]}", "left")]
        self.bar: Progress = Progress(texts[0], BarColumn(), texts[1], TimeRemainingColumn(), texts[2]).__enter__()
        total = self.epochs * self.steps_per_epoch
        self.task = self.bar.add_task("", total=total, completed=self.steps_before, figures="")
        self.shown = -math.inf
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.__exit__(kind, error, at)

    def step(self, state: State) -> None:
        if time.perf_counter() - self.shown < REFRESH:
            return
        self.shown = time.perf_counter()
        self._show(state.tally.loss, state.tally.accuracy(), state, state.epoch + 1)

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        self._show(row["loss"], row.get("accuracy", math.nan), state, state.epoch)

    def _show(self, loss: float, accuracy: float, state: State, epoch: int) -> None:
        figures = self.figures(loss, accuracy, state.items)
        done = state.epoch * self.steps_per_epoch + state.step
        self.bar.update(self.task, completed=done, description=f"epoch {epoch}/{self.epochs}", figures=figures)


def reporter(progress: bool) -> type[Silent]:
    """The right one of the three for where the output goes."""
    if not progress:
        return Silent
    return Bar if sys.stdout.isatty() else Lines


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
