"""`likewise answers`: from a store to a file, and from a file to a store."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from uuid import UUID, uuid5

import typer

from likewise.cli.options import PLACE, STORE
from likewise.cli.outputs import check_file, writing
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.pairs import Pairs
    from likewise.pairs.store import Event

IMPORTED = UUID("5b0c7a52-6a5f-4c58-9a2d-6d1c0d6d3a51")  # the namespace of the ids of answers from files

app = typer.Typer(help="Copy answers from a store to a file, or back.", no_args_is_help=True, rich_markup_mode=None)


@app.command("export")
def export(
    store: Annotated[str, typer.Argument(metavar="STORE", help=STORE)],
    out: Annotated[Path, typer.Option(help="Write to this .csv or .parquet file.")],
) -> None:
    """Write the answers of a store to a file.

    These are the answers in force: those that nobody has changed or withdrawn, without "not sure".
    """
    check_file(out, "--out", (".csv", ".parquet"))

    from likewise.pairs import Pairs
    from likewise.pairs.files import is_store

    if not is_store(store):
        raise InputError(f"{store} is not a store of answers; give a .db file, or the URL of a database.")
    pairs = Pairs.read(store)
    with writing(out, "--out"):
        pairs.write(out)
    people = f" by {len(pairs.annotators)} people" if len(pairs.annotators) > 1 else ""
    typer.echo(f"Wrote {out}: {len(pairs):,} answers{people}.")


@app.command("import")
def import_(
    table: Annotated[Path, typer.Argument(help="The answers: a .csv or .parquet table, as fit takes it.")],
    store: Annotated[str, typer.Option(metavar=PLACE, help=STORE)],
    annotator: Annotated[
        str, typer.Option(metavar="NAME", help="The annotator, where the file names none.")
    ] = "import",
) -> None:
    """Add the answers of a file to a store.

    An answer that is in the store already is not added again. One that was changed since stays changed.
    """
    from likewise.pairs import Pairs
    from likewise.pairs.files import check_suffix
    from likewise.pairs.store import create_store

    check_suffix(table)
    pairs = Pairs.read(table)
    events = _events(pairs, annotator)
    with create_store(store) as opened:
        before = len(opened.events())
        opened.append(events)
        added = len(opened.events()) - before
    duplicates = "" if added == len(events) else f"; {len(events) - added:,} were there already"
    typer.echo(f"Added {added:,} answers to {opened.name}{duplicates}.")


def _events(pairs: Pairs, annotator: str) -> list[Event]:
    """An event for each answer; its id follows from what it says, so that it cannot be added twice."""
    from likewise.pairs.store import Event

    if ((pairs.weight != 1) & (pairs.weight != 0)).any():
        warnings.warn("A store keeps no weights; those of the file are left out.", stacklevel=2)
    events: dict[str, Event] = {}
    for row in range(len(pairs)):
        same = float(pairs.same[row])
        if same not in (0.0, 1.0):
            raise InputError(f"{pairs.source.place(row)}: same is {same:g}, and a store keeps 1 and 0 alone; round it.")
        left, right = pairs.name(int(pairs.left[row])), pairs.name(int(pairs.right[row]))
        if left == right or pairs.weight[row] == 0:
            continue
        who = annotator if pairs.annotator is None else pairs.annotators[pairs.annotator[row]] or annotator
        content = "\0".join((who, *sorted((left, right)), f"{same:g}"))
        number = str(uuid5(IMPORTED, content))
        events[number] = Event(number, who, left, right, "same" if same else "different", why="import")
    return list(events.values())
