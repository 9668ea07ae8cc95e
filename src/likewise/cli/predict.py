"""`likewise predict`: the class of each item and its probability, with a part of the items in memory at a time."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from likewise.cli.fitted import columns_of
from likewise.cli.items import check_shape, features_or_images, list_broken, open_for
from likewise.cli.options import ItemsPath, Processes, RunFolder, Strict
from likewise.cli.places import check_file, writing
from likewise.cli.predictions import prediction_rows, write_csv, write_parquet
from likewise.cli.processes import take_part
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.datasets import ItemStream
    from likewise.estimators import NetworkClassifier


def predict(
    run: RunFolder,
    items: ItemsPath,
    out: Annotated[Path, typer.Option(help="Write to this .csv or .parquet file: id, class, probability.")],
    strict: Strict = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Items per batch: so many are in memory.")] = 1000,
    processes: Processes = 1,
) -> None:
    """Put items in the classes that a run has learned."""
    take_part(processes)
    check_file(out, "--out", (".csv", ".parquet"))
    if out.resolve() == items.resolve():
        raise InputError(f"{out} holds the items; give --out another name.")

    from likewise.estimators import load_classifier
    from likewise.files import replacing

    model = load_classifier(run)
    stream = open_for(model, items, columns=columns_of(run, model), strict=strict, chunk=batch_size)
    with writing(out, "--out"), replacing(out) as file:
        write = write_csv if out.suffix.lower() == ".csv" else write_parquet
        n = write(file, _predictions(model, stream, items))
    list_broken(stream.broken)
    typer.echo(f"Wrote {out}: {n:,} item{'' if n == 1 else 's'} in {len(model.naming_.outputs):,} classes.")
    if not model.naming_.named:
        typer.echo(
            f"A class is the number of an output; likewise name {shlex.quote(str(run))} --labels few.csv names it."
        )


def _predictions(model: NetworkClassifier, stream: ItemStream, path: Path) -> Iterator[Any]:
    """Arrow tables of id, class and probability; a bar on a terminal shows how far it is."""
    import torch
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from likewise.distributed import sharing, whole

    console, row = Console(), 0
    texts = [TextColumn(text) for text in ("items", "left")]
    columns = (BarColumn(), MofNCompleteColumn(), texts[0], TimeRemainingColumn(), texts[1])
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=len(stream))
        for items in stream:
            with sharing(len(items)) as own:
                rows = features_or_images(check_shape(items, model, path))[own.rows]
                probabilities = whole(torch.from_numpy(model.predict_proba(rows))).numpy()  # (b, classes)
            yield prediction_rows(items, model.classes_[probabilities.argmax(1)], probabilities.max(1), row)
            row += len(items)
            bar.advance(task, len(items))
