"""`likewise data`: download the data sets, and see which are there."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from likewise.cli.options import Data

# The rooms are imported inside the commands: they bring torch, and `likewise --help` must not wait for it.

DownloadName = Literal["mnist", "fashion-mnist", "cifar10", "cifar100", "omniglot"]

app = typer.Typer(help="Download data sets, and see which are there.", no_args_is_help=True)


@app.command()
def get(
    name: Annotated[DownloadName, typer.Argument(help="The data set.")],
    data: Data = None,
    mirror: Annotated[
        str | None, typer.Option(help="An address that holds the same files.", show_default=False)
    ] = None,
) -> None:
    """Download a set from its official home, with resume and checksum."""
    from likewise.datasets import download

    download.get(name, data, base_url=mirror)


@app.command("list")
def list_sets(data: Data = None) -> None:
    """Show which sets are there, and where."""
    from likewise.datasets.download import survey
    from likewise.datasets.source_files import get_command

    typer.echo("digits        embedded in scikit-learn")
    for data_set in survey(data):
        if not data_set.missing:
            what = ", ".join(map(str, sorted({path.parent for path in data_set.paths})))
        elif data_set.paths:
            what = f"incomplete, without {', '.join(data_set.missing)}; run `{get_command(data_set.name, data)}`"
        else:
            what = f"not found; run `{get_command(data_set.name, data)}`"
        typer.echo(f"{data_set.name:<13} {what}")
