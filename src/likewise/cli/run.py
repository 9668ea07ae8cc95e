"""The run of `fit`, `semi` or `discover`: a folder that the same command resumes and any other is refused.

    with open_run(out, "fit", arguments) as run:
        stream = ...                                   # the items, opened but not read
        if run.was_finished([pairs], items, stream):   # known by the names, sizes and times of the files
            return
        given = run.read(items, stream)
        if not run.begin(items, given, pairs, ...):    # refuses other data; from here on the folder is ours
            return
        ...                                            # learn, and write the files; metrics.json comes last

An error before `begin` leaves nothing behind. An error after it leaves the checkpoints, from which the command resumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from likewise.cli import fitted
from likewise.cli.items import Given, read_all, read_or_keep
from likewise.cli.places import check_folder, writing
from likewise.cli.words import print_finished
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import ItemStream


@dataclass
class Run:
    """A run that is being written; `open_run` makes it."""

    folder: Path
    command: str
    arguments: dict[str, Any]
    before: fitted.Fit | None  # what an earlier call of the same command began
    reserved: ExitStack
    stamp: str = field(default="", init=False)

    def was_finished(self, files: Sequence[Path], items: Path, stream: ItemStream, state: str = "") -> bool:
        """Whether the same command has finished with the same files; if so, that is printed.

        `state` is that of what is in no file, such as the answers of a store.
        """
        self.stamp = fitted.stamp([*files, *item_files(items, stream)]) + state
        same = self.before is not None and self.before.stamp == self.stamp
        return same and self._is_finished()

    def read(self, items: Path, stream: ItemStream, *, on_disk: bool | None = None, strict: bool = False) -> Given:
        """All items, in memory or, where they would fill it or `on_disk` is set, in the folder; None: never there."""
        if on_disk is None:
            return read_all(stream)
        with writing(self.folder, "--out"):
            return read_or_keep(
                stream, self.folder / "items", item_files(items, stream), on_disk=on_disk, strict=strict
            )

    def begin(self, items: Path, given: Given, told: Path | str, *, unit: str, sha256: str) -> bool:
        """Write fit.json and keep other processes out; False where the run turns out to be finished.

        `told` is the file or store of the answers or labels, or where "same" is learned from; its places count in
        `unit`s, and `sha256` is of its content.
        """
        record = fitted.Fit(
            command=self.command,
            items=str(items.absolute()),
            n_items=len(given.items),
            columns=given.items.columns,
            told=str(told) if "://" in str(told) else str(Path(told).absolute()),
            unit=unit,
            arguments=self.arguments,
            items_sha256=fitted.items_sha256(given.items),
            told_sha256=sha256,
            stamp=self.stamp,
        )
        fitted.refuse_other_data(self.folder, self.before, record)
        self.reserved.enter_context(writing(self.folder, "--out"))
        self.reserved.enter_context(fitted.begun(self.folder, record))
        if self.before is not None and self._is_finished():
            return False
        if len(given.items) < 2:
            raise InputError(f"There is only one item; give at least two, and {record.word} about them.")
        return True

    def _is_finished(self) -> bool:
        if not fitted.is_finished(self.folder, self.command):
            return False
        print_finished(self.folder, self.command)
        return True


@contextmanager
def open_run(folder: Path, command: str, arguments: dict[str, Any]) -> Iterator[Run]:
    """A run in a folder that is new, or was begun by the same command with the same arguments."""
    check_folder(folder, "--out")
    before = fitted.read_fit(folder)
    fitted.refuse_other_arguments(folder, before, command, arguments)
    with fitted.nothing_left(folder), ExitStack() as reserved:
        yield Run(folder, command, arguments, before, reserved)


def item_files(items: Path, stream: ItemStream) -> list[Path]:
    """The files that items are read from: the images of a folder, or the one file."""
    return [items / name for name in stream.names] or [items]
