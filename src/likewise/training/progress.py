"""What a run shows while it works: a bar on a terminal, plain lines elsewhere, nothing when not wanted.

Clocks are read here to show and to space out what is shown. Nothing that a run computes depends on them.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from likewise.storage.atomic_files import is_writer

if TYPE_CHECKING:
    from rich.progress import Progress

    from likewise.training.checkpoint import State

REFRESH = 0.5  # seconds between two looks at the figures; matching outputs to classes is not free
SPACING = 1.0  # seconds between two lines at least
RARER = 60  # lines inside epochs come no closer than this part of the time that has passed: a long log stays short

SHOWN = ("epoch", "learning_rate", "loss", "accuracy")  # the columns that are not the caller's own


class Silent:
    """Shows nothing. `Lines` and `Bar` have the same methods.

    Rates and the time left are measured from the end of the first step, which has to fetch and to set up more.
    """

    def __init__(
        self,
        epochs: int,
        steps_per_epoch: int,
        state: State,
        stage: str = "",  # what is being learned, where a run is one of several
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.epochs, self.steps_per_epoch, self.stage, self.clock = epochs, steps_per_epoch, stage, clock
        self.steps_before = self.done(state)
        self.first: tuple[float, int, int] | None = None  # when the first step was done, the steps and the items then

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Leave the terminal as it was."""

    def step(self, state: State) -> None:
        """After every step."""

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        """After every epoch, with its row of the history."""

    def done(self, state: State) -> int:
        return state.epoch * self.steps_per_epoch + state.step

    def elapsed(self) -> float:
        """Seconds since the first step was done."""
        return 0.0 if self.first is None else self.clock() - self.first[0]

    def begin(self, state: State) -> bool:
        """Whether this is the end of the first step; times are measured from there."""
        if self.first is not None:
            return False
        self.first = self.clock(), self.done(state), state.items
        return True

    def figures(self, loss: float, accuracy: float, state: State) -> str:
        known = "" if math.isnan(accuracy) else f"  ACC {100 * accuracy:.2f} %"
        elapsed = self.elapsed()
        if self.first is None or elapsed <= 0 or state.items == self.first[2]:
            return f"loss {loss:.4f}{known}"
        return f"loss {loss:.4f}{known}  {(state.items - self.first[2]) / elapsed:.0f} items/s"


class Lines(Silent):
    """Lines for files and pipes: at most one per second, the first after two steps."""

    last: ClassVar[float] = -math.inf  # when a line was printed, in whichever stage of the program

    def step(self, state: State) -> None:
        if self.begin(state) or not self._is_due(max(SPACING, self.elapsed() / RARER)):
            return
        place = f"epoch {state.epoch + 1}/{self.epochs}, step {state.step}/{self.steps_per_epoch}"
        self._print(place, self.figures(state.tally.loss, state.tally.accuracy(), state), state)

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        if not self._is_due(SPACING):
            return
        others = "".join(f"  {name} {value:.4g}" for name, value in row.items() if name not in SHOWN)
        figures = self.figures(row["loss"], row.get("accuracy", math.nan), state)
        self._print(f"epoch {state.epoch}/{self.epochs}", figures + others, state)

    def _is_due(self, seconds: float) -> bool:
        now = self.clock()
        if now - Lines.last < seconds:
            return False
        Lines.last = now
        return True

    def _print(self, place: str, figures: str, state: State) -> None:
        stage = f"{self.stage}: " if self.stage else ""
        done = 0 if self.first is None else self.done(state) - self.first[1]
        ahead = self.epochs * self.steps_per_epoch - self.done(state)
        of_it = " in this stage" if self.stage else ""
        left = f"  {clock(self.elapsed() / done * ahead)} left{of_it}" if done else ""
        print(f"{stage}{place}  {figures}{left}", flush=True)


class Bar(Silent):
    """One bar over all steps, with the figures of the current epoch."""

    def __enter__(self) -> Self:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        texts = [TextColumn(text) for text in ("{task.description}", "{task.fields[figures]}", "left")]
        self.bar: Progress = Progress(texts[0], BarColumn(), texts[1], TimeRemainingColumn(), texts[2]).__enter__()
        total = self.epochs * self.steps_per_epoch
        self.task = self.bar.add_task(self.stage, total=total, completed=self.steps_before, figures="")
        self.shown = -math.inf
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.bar.__exit__(kind, error, at)

    def step(self, state: State) -> None:
        self.begin(state)
        if self.clock() - self.shown < REFRESH:
            return
        self.shown = self.clock()
        self._show(state.tally.loss, state.tally.accuracy(), state, state.epoch + 1)

    def epoch(self, row: Mapping[str, float], state: State) -> None:
        self._show(row["loss"], row.get("accuracy", math.nan), state, state.epoch)

    def _show(self, loss: float, accuracy: float, state: State, epoch: int) -> None:
        place = f"{self.stage}: epoch {epoch}/{self.epochs}" if self.stage else f"epoch {epoch}/{self.epochs}"
        figures = self.figures(loss, accuracy, state)
        self.bar.update(self.task, completed=self.done(state), description=place, figures=figures)


def reporter(progress: bool | str) -> type[Silent]:
    """`Silent`, `Lines` or `Bar`, by where the output goes; of several processes, only the first shows progress."""
    if not progress or not is_writer():
        return Silent
    return Bar if sys.stdout.isatty() else Lines


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
