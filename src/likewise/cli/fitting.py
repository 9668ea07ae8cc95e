"""What `fit`, `semi` and `discover` do alike: open the items, know a folder that was begun, go on or say it is done."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import typer

from likewise.cli import fitted
from likewise.cli.items import Given, read_all, read_or_keep
from likewise.cli.places import check_folder, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import ItemStream

T = TypeVar("T")

MOST_CLASSES = 30  # whose sizes are printed


@dataclass(frozen=True)
class Told(Generic[T]):
    """What is told of the items, such as answers or labels: where it is, and how a command reads it."""

    path: Path
    read: Callable[[ItemStream], Callable[[Given], T]]  # refuses a wrong id before many images are read
    unit: Callable[[T], str]  # what its places count, "line" or "row"
    sha256: Callable[[T], str]
    files: Sequence[Path] = ()  # in a folder; by default the path is a file itself
    open_items: Callable[[Path], ItemStream] | None = None  # where the form of the items follows from what is told


def fit_into(
    out: Path,
    items: Path,
    told: Told[T],
    learn: Callable[[Given, T], Iterable[str]],  # trains, writes all files but fit.json, and gives lines to print
    *,
    command: str,
    arguments: dict[str, Any],
    strict: bool,
    on_disk: bool | None = None,  # whether the items must stay on disk; None: they cannot
) -> None:
    """Fit a classifier into a folder, unless the same was done already."""
    check_folder(out, "--out")

    from likewise.datasets import open_items

    before = fitted.read_fit(out)
    fitted.refuse_other_arguments(out, before, command, arguments)
    channels: Literal[1, 3] = 1 if arguments["grey"] else 3
    if told.open_items is None:
        stream = open_items(items, size=arguments["size"], channels=channels, strict=strict)
    else:
        stream = told.open_items(items)
    find = told.read(stream)
    item_files = [items / name for name in stream.names] or [items]
    stamp = fitted.stamp([*(told.files or [told.path]), *item_files])
    if before is not None and before.stamp == stamp and fitted.is_finished(out, command):
        print_finished(out, command)
        return

    with fitted.nothing_left(out):
        if on_disk is None:
            given = read_all(stream)
        else:
            with writing(out, "--out"):
                given = read_or_keep(stream, out / "items", item_files, on_disk=on_disk, strict=strict)
        knowledge = find(given)
        begun = fitted.Fit(
            command=command,
            items=str(items.absolute()),
            n_items=len(given.items),
            columns=given.items.columns,
            told=str(told.path.absolute()),
            unit=told.unit(knowledge),
            arguments=arguments,
            items_sha256=fitted.items_sha256(given.items),
            told_sha256=told.sha256(knowledge),
            stamp=stamp,
        )
        fitted.refuse_other_data(out, before, begun)
        with writing(out, "--out"), fitted.begun(out, begun):
            if before is not None and fitted.is_finished(out, command):
                print_finished(out, command)
                return
            if len(given.items) < 2:
                raise InputError(f"There is only one item; give at least two, and {begun.word} about them.")
            lines = learn(given, knowledge)
    for line in lines:
        typer.echo(line)


def items_in_words(items: Path, given: Given) -> str:
    return f"{items}: {len(given.items):,} {'images' if given.items.inputs.ndim == 4 else 'items'}"


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
    typer.echo(f"{out} is finished, by the same command. Next:")
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
