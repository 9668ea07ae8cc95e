"""Learn from the answers so far, in another process: `likewise fit`, and then its report."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

from likewise.errors import InputError
from likewise.pairs import Pairs
from likewise.pairs.store import AnswerStore, in_force

State = Literal["idle", "running", "done", "failed"]


class Learner:
    """Runs `likewise fit`, one at a time; each run has a folder of its own, 1, 2, 3, ... within `folder`."""

    def __init__(self, folder: Path, items: Path, options: Sequence[str] = ()) -> None:
        self.folder, self.items, self.options = folder, items, options
        self.state: State = "idle"
        self.line = ""  # the last that was printed
        self.report: Path | None = None
        self.thread: threading.Thread | None = None  # that follows a run
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def start(self, store: AnswerStore) -> None:
        """Begin with the answers in force, unless a run is under way."""
        with self._lock:
            if self.state == "running":
                return
            answers = write_answers(store, self._next_run())
            self.state, self.line = "running", "Learning from the answers so far."
            self.thread = threading.Thread(target=self._run, args=(answers,), daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """End a run that is under way."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                self._process.terminate()

    def _next_run(self) -> Path:
        taken = [int(path.name) for path in self.folder.glob("[0-9]*") if path.name.isdecimal()]
        return self.folder / str(max(taken, default=0) + 1)

    def _run(self, answers: Path) -> None:
        run = answers.parent / "run"
        fit = ["fit", str(self.items), "--pairs", str(answers), "--out", str(run), *self.options]
        for arguments in (fit, ["report", str(run)]):
            code = self._execute(arguments)
            if code:
                self.state = "failed"
                return
        self.report, self.state = run / "report.html", "done"

    def _execute(self, arguments: Sequence[str]) -> int:
        command = [sys.executable, "-m", "likewise", *arguments]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            self._process = process
            assert process.stdout is not None
            self._follow(process.stdout)
        return process.returncode

    def _follow(self, output: IO[str]) -> None:
        for line in output:
            self.line = line.strip()[:300] or self.line


def write_answers(store: AnswerStore, folder: Path) -> Path:
    """The answers in force, in a file: what is learned from stays as it is while people go on answering."""
    events = [event for event in in_force(store.events()) if event.answer != "not sure"]
    if not events:
        raise InputError("There are no answers yet; answer a few questions first.")
    pairs = Pairs.from_arrays(
        [(event.left, event.right) for event in events],
        [event.answer == "same" for event in events],
        annotator=[event.annotator for event in events],
    )
    path = folder / "answers.parquet"
    pairs.write(path)
    return path
