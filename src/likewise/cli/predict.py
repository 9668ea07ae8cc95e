"""`likewise predict`: the class of each item and its probability, with a part of the items in memory at a time."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.items import check_shape, features_or_images, list_broken, open_for, share_out
from likewise.cli.options import (
    EncoderMoved,
    ItemsPath,
    Processes,
    RunFolder,
    Strict,
    TextColumns,
    text_columns,
)
from likewise.cli.outputs import check_file, write_csv, write_parquet, writing
from likewise.cli.processes import take_part
from likewise.cli.run_files import columns_of
from likewise.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.datasets import Items, ItemStream
    from likewise.estimators import CategoryDiscoverer, NetworkClassifier


PRINTED = Path("-")  # --out for standard output


def prediction_rows(
    items: Items,
    classes: NDArray[Any],
    probabilities: NDArray[np.float32],
    first_row: int = 0,
    further: dict[str, NDArray[np.float32]] | None = None,
) -> Any:
    """An Arrow table: the class of each item (n,) and its probability (n,); without ids, items have row numbers.

    `further` columns (n,) come last.
    """
    import pyarrow as pa

    ids = pa.array(items.ids or range(first_row, first_row + len(items)))
    return pa.table({"id": ids, "class": pa.array(classes.tolist()), "probability": probabilities, **(further or {})})


def predict(
    run: RunFolder,
    items: ItemsPath,
    out: Annotated[
        Path, typer.Option(help="Write to this .csv or .parquet file: id, class, probability; - prints the .csv.")
    ],
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Write the probability of every class, in a column each.")
    ] = False,
    encoder: EncoderMoved = None,
    text: TextColumns = None,
    strict: Strict = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Items per batch: so many are in memory.")] = 1000,
    processes: Processes = 1,
) -> None:
    """Put items in the classes that a run has learned."""
    take_part(processes)
    printed = out == PRINTED
    if not printed:
        check_file(out, "--out", (".csv", ".parquet"))
    if not printed and out.resolve() == items.resolve():
        raise InputError(f"{out} holds the items; give --out another name.")

    from likewise.estimators import load_classifier
    from likewise.storage.atomic_files import open_atomically

    model = load_classifier(run)
    columns = text_columns(text) or columns_of(run, model)
    stream = open_for(model, items, columns=columns, strict=strict, chunk=batch_size, encoder=encoder)
    share_out(stream)
    tables = _predictions(model, stream, items, every=probabilities, discovered=_discovered(run))
    if printed:
        n = write_csv(sys.stdout.buffer, tables)
        sys.stdout.buffer.flush()
    else:
        with writing(out, "--out"), open_atomically(out) as file:
            n = (write_csv if out.suffix.lower() == ".csv" else write_parquet)(file, tables)
    list_broken(stream.broken)
    done = "Printed" if printed else f"Wrote {out}:"
    typer.echo(f"{done} {n:,} item{'' if n == 1 else 's'} in {len(model.naming_.outputs):,} classes.", err=printed)
    if not model.naming_.named:
        how = f"likewise name {shlex.quote(str(run))} --labels few.csv names it."
        typer.echo(f"A class is the number of an output; {how}", err=printed)


def _discovered(run: Path) -> CategoryDiscoverer | None:
    """The classes that a run of `discover` found, if it can tell items that are of none of them."""
    from likewise.estimators import CategoryDiscoverer
    from likewise.estimators.saved_discoverer import NAME

    discoverer = CategoryDiscoverer.load(run) if (run / NAME).exists() else None
    return None if discoverer is None or discoverer.novelty_ is None else discoverer


def _predictions(
    model: NetworkClassifier,
    stream: ItemStream,
    path: Path,
    *,
    every: bool,
    discovered: CategoryDiscoverer | None = None,
) -> Iterator[Any]:
    """Arrow tables of id, class and probability, or `every` probability; a bar on a terminal shows how far it is."""
    import torch
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from likewise.distributed import gather_batch, sharing
    from likewise.estimators.anchor_items import with_unseen

    console, row = Console(stderr=True), 0
    texts = [TextColumn(text) for text in ("items", "left")]
    shown = (BarColumn(), MofNCompleteColumn(), texts[0], TimeRemainingColumn(), texts[1])
    with Progress(*shown, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(stream))
        for items in stream:
            with sharing(len(items)) as own:
                rows = features_or_images(check_shape(items, model, path))[own.rows]
                probabilities = gather_batch(torch.from_numpy(model.predict_proba(rows))).numpy()  # (b, classes)
            columns = zip(model.classes_.tolist(), probabilities.T, strict=True) if every else ()
            further = {f"probability_{name}": column for name, column in columns}
            classes = model.classes_[probabilities.argmax(1)]
            if discovered is not None:
                with sharing(len(items)) as own:
                    p_new = gather_batch(torch.from_numpy(discovered.predict_new(rows))).numpy()
                classes = with_unseen(classes, p_new)
                further["new"] = p_new
            yield prediction_rows(items, classes, probabilities.max(1), row, further)
            row += len(items)
            bar.advance(task, len(items))
