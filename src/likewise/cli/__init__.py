"""The command `likewise`: one file per command; only here does an error become a sentence and an exit code.

Nothing here imports torch; a command's file imports what it needs when it runs, so that --help answers at once.
"""

from __future__ import annotations

import errno
import io
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from likewise import __version__
from likewise.cli import (
    answers,
    bench,
    check,
    cluster,
    data,
    demo,
    discover,
    encode,
    evaluate,
    export,
    fit,
    label,
    landscape,
    name,
    paper,
    predict,
    report,
    semi,
)
from likewise.cli.options import GroupedCommand
from likewise.cli.processes import LOST, quiet_unless_first, rank_and_size
from likewise.errors import InputError

UsageError: Any = typer.BadParameter.__mro__[1]  # of click, which is beside typer or inside, depending on its version
NO_MEMORY = "there is not enough memory for this; give fewer or smaller items, fewer classes or a smaller batch."


class Commands(TyperGroup):
    """Every command, and how it ends: bad input in one sentence and exit code 2, Ctrl-C in 130; warnings in a line.

    Of several processes of one job, the first speaks; where it is one of the others that fails first, that one.
    """

    def make_context(self, *arguments: Any, **further: Any) -> Any:
        with one_sentence_of_usage():
            return super().make_context(*arguments, **further)

    def invoke(self, ctx: Any) -> Any:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # a file's name may be any bytes, and is to be shown all the same
                stream.reconfigure(errors="backslashreplace")
        try:
            with one_sentence_of_usage(), warnings.catch_warnings(), quiet_unless_first():
                warnings.filterwarnings("always", module="likewise")
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except InputError as error:
            _tell(f"likewise: {error}")
            raise typer.Exit(2) from error
        except KeyboardInterrupt as stop:
            _tell(str(stop) or "Stopped.")
            raise typer.Exit(130) from stop
        except OSError as error:
            if error.errno in (None, errno.EPIPE):  # not of a file; what reads our output may end before us
                raise
            _tell(f"likewise: {error.filename or 'A file'} cannot be used ({error.strerror}).")
            raise typer.Exit(2) from error
        except (MemoryError, RuntimeError) as error:
            if is_out_of_memory(error):
                _tell(f"likewise: {NO_MEMORY}")
                raise typer.Exit(2) from error
            if not isinstance(error, RuntimeError) or not _is_lost(error):
                raise
            _tell(f"likewise: {LOST}")
            raise typer.Exit(1) from error


@contextmanager
def one_sentence_of_usage() -> Iterator[None]:
    """Inside, a mistake in what was typed ends in one sentence and exit code 2; no arguments at all, in the help."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            raise
        said = " ".join(error.format_message().split()).replace("Value error, ", "")
        command = "likewise" if error.ctx is None else error.ctx.command_path
        _tell(f"likewise: {said}{'' if said[-1:] in '.?' else '.'} See {command} --help.")
        raise typer.Exit(2) from error


def is_out_of_memory(error: BaseException) -> bool:
    """Torch has no exception of its own for it; oneDNN, which it calls, says no more than the last of these."""
    signs = ("allocate memory", "out of memory", "could not create a primitive")
    return isinstance(error, MemoryError) or any(sign in str(error) for sign in signs)


def _tell(sentence: str) -> None:
    """To the terminal, unless another process of the job has told it why it ends."""
    if "likewise.distributed" in sys.modules:
        from likewise.distributed import is_first_to_tell

        if not is_first_to_tell():
            return
    typer.echo(sentence, err=True)


def _is_lost(error: RuntimeError) -> bool:
    if "likewise.distributed" not in sys.modules:
        return False
    from likewise.distributed import is_lost

    return is_lost(error)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print the warning without the place in our source that raised it."""
    if rank_and_size()[0] > 0:
        return
    typer.echo(f"likewise: warning: {' '.join(str(message).split())}", err=True)


app = typer.Typer(
    name="likewise",
    cls=Commands,
    help="Likewise learns classes from same-or-different answers.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("demo", cls=GroupedCommand)(demo.demo)
app.command("check", cls=GroupedCommand)(check.check)
app.command("fit", cls=GroupedCommand)(fit.fit)
app.command("label", cls=GroupedCommand)(label.label)
app.command("semi", cls=GroupedCommand)(semi.semi)
app.command("discover", cls=GroupedCommand)(discover.discover)
app.command("encode", cls=GroupedCommand)(encode.encode)
app.command("evaluate", cls=GroupedCommand)(evaluate.evaluate)
app.command("predict", cls=GroupedCommand)(predict.predict)
app.command("name", cls=GroupedCommand)(name.name)
app.command("export", cls=GroupedCommand)(export.export)
app.command("report", cls=GroupedCommand)(report.report)
app.command("cluster", cls=GroupedCommand)(cluster.cluster)
app.command("landscape", cls=GroupedCommand)(landscape.landscape)
app.add_typer(answers.app, name="answers")
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
