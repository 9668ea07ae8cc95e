"""The command `likewise`: one file a command, and the one place where errors become a sentence and an exit code.

Nothing here imports torch; a command's file imports what it needs when it runs, so that --help answers at once.
"""

from __future__ import annotations

import sys

import typer

from likewise import __version__
from likewise.cli import bench, data, demo, paper
from likewise.errors import InputError

app = typer.Typer(
    name="likewise",
    help="Likewise learns classes from same-or-different answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(paper.app, name="paper")


@app.callback(invoke_without_command=True)
def likewise(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"likewise {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; bad input ends in one sentence and exit code 2, Ctrl-C in 130."""
    try:
        app()
    except InputError as error:
        typer.echo(f"likewise: {error}", err=True)
        sys.exit(2)
    except KeyboardInterrupt as stop:
        typer.echo(str(stop) or "Stopped.", err=True)
        sys.exit(130)
