"""What `fit`, `semi` and `discover` print alike: what they read, the classes, and the next commands."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import typer

from likewise.cli.items import Given

MOST_CLASSES = 30  # whose sizes are printed


def items_in_words(items: Path, given: Given) -> str:
    if given.encoder is not None:
        facts = given.encoder.facts
        return f"{items}: {len(given.items):,} {facts['takes']}, each as {facts['width']:,} features of {facts['name']}"
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
