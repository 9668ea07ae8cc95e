"""The run of `fit`, `semi` or `discover`: a folder that the same command resumes and any other is refused.

    with open_run(out, "fit", arguments) as run:
        stream = ...                                   # the items, opened but not read
        if run.was_finished([pairs], items, stream):   # known by the names, sizes and times of the files
            return
        loaded = run.read(items, stream)
        if not run.begin(items, loaded, pairs, ...):   # refuses other data; from here on the folder is ours
            return
        ...                                            # learn, and write the files; metrics.json comes last

An error before `begin` leaves nothing behind. An error after it leaves the checkpoints, from which the command resumes.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from likewise.cli import run_files
from likewise.cli.items import LoadedItems, read_all, read_or_keep
from likewise.cli.outputs import check_folder, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import ItemStream


# Arguments that may differ when a run resumes: files are known by their fingerprints, and the rest changes no result.
BESIDE = ("items", "pairs", "labels", "out", "strict", "on_disk", "processes", "sync_batch_norm")


@dataclass
class Run:
    """A run that is being written; `open_run` makes it."""

    folder: Path
    command: str
    arguments: dict[str, Any]
    before: run_files.Fit | None  # what an earlier call of the same command began
    reserved: ExitStack
    stamp: str = field(default="", init=False)

    def was_finished(self, files: Sequence[Path], items: Path, stream: ItemStream, state: str = "") -> bool:
        """Whether the same command has finished with the same files; if so, that is printed.

        `state` is that of what is in no file, such as the answers of a store.
        """
        self.stamp = run_files.stamp([*files, *item_files(items, stream)]) + state
        same = self.before is not None and self.before.stamp == self.stamp
        return same and self._is_finished()

    def read(
        self, items: Path, stream: ItemStream, *, on_disk: bool | None = None, strict: bool = False
    ) -> LoadedItems:
        """All items, in memory or, where they would fill it or `on_disk` is set, in the folder; None: never there."""
        if on_disk is None:
            return read_all(stream)
        with writing(self.folder, "--out"):
            return read_or_keep(
                stream, self.folder / "items", item_files(items, stream), on_disk=on_disk, strict=strict
            )

    def begin(self, items: Path, loaded: LoadedItems, source: Path | str, *, unit: str, sha256: str) -> bool:
        """Write fit.json and keep other processes out; False where the run turns out to be finished.

        `source` is the file or store of the answers or labels, or where "same" is learned from; its places count in
        `unit`s, and `sha256` is of its content.
        """
        record = run_files.Fit(
            command=self.command,
            items=str(items.absolute()),
            n_items=len(loaded.items),
            columns=loaded.items.columns,
            source=str(source) if "://" in str(source) else str(Path(source).absolute()),
            unit=unit,
            arguments=self.arguments,
            items_sha256=run_files.items_sha256(loaded.items),
            source_sha256=sha256,
            stamp=self.stamp,
        )
        run_files.refuse_other_data(self.folder, self.before, record)
        self.reserved.enter_context(writing(self.folder, "--out"))
        self.reserved.enter_context(run_files.claim(self.folder, record))
        if self.before is not None and self._is_finished():
            return False
        if len(loaded.items) < 2:
            raise InputError(f"There is only one item; give at least two, and {record.word} about them.")
        return True

    def _is_finished(self) -> bool:
        if not run_files.is_finished(self.folder, self.command):
            return False
        print_finished(self.folder, self.command)
        return True


@contextmanager
def open_run(folder: Path, command: str, arguments: dict[str, Any]) -> Iterator[Run]:
    """A run in a folder that is new, or was begun by the same command with the same arguments."""
    check_folder(folder, "--out")
    before = run_files.read_fit(folder)
    run_files.refuse_other_arguments(folder, before, command, arguments)
    with run_files.nothing_left(folder), ExitStack() as reserved:
        yield Run(folder, command, arguments, before, reserved)


def item_files(items: Path, stream: ItemStream) -> list[Path]:
    """The files that items are read from: the images of a folder, or the one file."""
    return [items / name for name in stream.names] or [items]


# What fit, semi and discover print alike: what they read, the classes, and the next commands.

MOST_CLASSES = 30  # whose sizes are printed


def items_in_words(items: Path, loaded: LoadedItems) -> str:
    if loaded.encoder is not None:
        facts = loaded.encoder.facts
        return (
            f"{items}: {len(loaded.items):,} {facts['takes']}, each as {facts['width']:,} features of {facts['name']}"
        )
    return f"{items}: {len(loaded.items):,} {'images' if loaded.items.inputs.ndim == 4 else 'items'}"


def class_sizes(classes: list[Any], sizes: dict[Any, int]) -> Iterable[str]:
    """A table of the classes and of how many items are in each."""
    width = max(len("class"), *(len(str(name)) for name in classes))
    yield f"  {'class':>{width}}  items"
    for name in classes[:MOST_CLASSES]:
        yield f"  {name!s:>{width}}  {sizes.get(name, 0):>5,}"
    if len(classes) > MOST_CLASSES:
        yield f"  and {len(classes) - MOST_CLASSES} more"


def unused_outputs(unused: int, n_outputs: int) -> str:
    """
    >>> unused_outputs(1, 4), unused_outputs(0, 4)
    ('; 1 of 4 outputs is not used', '')
    """
    return f"; {unused} of {n_outputs} outputs {'is' if unused == 1 else 'are'} not used" if unused else ""


def print_finished(out: Path, command: str) -> None:
    typer.echo(f"{out} is finished: the same command wrote it. Next:")
    for line in next_commands(out, command):
        typer.echo(line)


def next_commands(out: Path, command: str) -> Iterable[str]:
    run = shlex.quote(str(out))
    yield f"  likewise report {run}"
    if command != "semi":  # whose labels have named the classes already
        yield f"  likewise name {run} --labels few.csv"
    yield f"  likewise predict {run} NEW_ITEMS --out predictions.csv"
    if command == "discover":
        yield f"  likewise discover --similarity {run} --unknown ANOTHER_PILE --out ANOTHER_RUN"
