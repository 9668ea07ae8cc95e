"""The command `likewise`: one file a command, and the one place where errors become a sentence and an exit code.

Nothing here imports torch; a command's file imports what it needs when it runs, so that --help answers at once.
"""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from likewise import __version__
from likewise.cli import bench, check, data, demo, paper
from likewise.errors import InputError


class Commands(TyperGroup):
    """Every command, and how it ends: bad input in one sentence and exit code 2, Ctrl-C in 130."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            typer.echo(f"likewise: {error}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as stop:
            typer.echo(str(stop) or "Stopped.", err=True)
            raise typer.Exit(130) from stop


app = typer.Typer(
    name="likewise",
    cls=Commands,
    help="Likewise learns classes from same-or-different answers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("check")(check.check)
app.add_typer(data.app, name="data")
app.add_typer(bench.app, name="bench")
app.add_typer(paper.app, name="paper")


@app.callback(invoke_without_command=True)
def likewise(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        typer.echo(f"likewise {__version__}")
        raise typer.Exit


def main() -> None:
    app()
