"""`likewise bench`: time and memory beside what one would write or use instead, measured in one run.

Each benchmark is a module of likewise/benchmarks with a function `run`, which takes its options and gives a record and
the lines to print. The table here has their names, summaries and options, so that --help need not import them.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from likewise.cli.options import CLUSTER_METHODS, Data, several_of
from likewise.errors import InputError

ANSWER_CASES = ("features", "images")
ENCODER_CASES = ("photos", "banking77", "drawings", "cifar10", "tuning", "speed")
QUESTION_CASES = ("digits", "mnist", "photos", "speed")

app = typer.Typer(no_args_is_help=True, help="Measure time and memory side by side.")


class Choice(NamedTuple):
    """An option of a benchmark: its type with its help, and its default."""

    kind: Any
    default: Any = None


def count(default: int | None, text: str, least: int = 1) -> Choice:
    return Choice(Annotated[int | None if default is None else int, typer.Option(min=least, help=text)], default)


def any_of(names: tuple[str, ...], text: str) -> Choice:
    return Choice(Annotated[list[str] | None, several_of(names, text)])


THREADS = {"threads": count(None, "Number of threads. Default: torch's own choice.")}
DATA = {"data": Choice(Data)}

# name: (its help, whose first line is its summary; its options)
BENCHMARKS: dict[str, tuple[str, dict[str, Choice]]] = {
    "criterion": (
        "Compare MCL and KCL with other ways to compute them.\n\n"
        "These are naive enumeration of the pairs, the bare matrix products and cross-entropy.",
        {"repeats": count(None, "Number of measurements of each. Default: chosen by the time one takes."), **THREADS},
    ),
    "pairs": (
        "Load, close and check synthetic answers from a CSV file.",
        {"answers": count(10_000_000, "Number of answers.")},
    ),
    "posterior": (
        "Judge synthetic answers, one in ten wrong, all together.\n\n"
        "Once with the answers alone and once with a classifier's outputs; there are ten answers for each item.",
        {"answers": count(10_000_000, "Number of answers, at most; a tenth and three tenths are measured too.", 1000)},
    ),
    "similarity": (
        "Time a training step of the similarity network.\n\n"
        "It is compared with a network that writes out the features of every pair.",
        {"repeats": count(5, "Number of training steps of each."), **THREADS},
    ),
    "semi": (
        "Time an epoch of Pseudo-MCL and one of the Pi-model.\n\n"
        "The Pi-model sees as many views and compares no pairs.",
        {"repeats": count(5, "Number of epochs of each."), **THREADS},
    ),
    "answers": (
        "Time a fit from 1,000 answers and as many steps with labels.\n\n"
        "The items are 900 feature vectors and 60,000 images: the photos' features and MNIST if they are in the data "
        "folder, otherwise made up.",
        {"case": any_of(ANSWER_CASES, "The case to measure, once or several times. Default: both."), **DATA, **THREADS},
    ),
    "encoders": (
        "Learn from what pretrained encoders see, and time them.\n\n"
        "Photographs, the questions of Banking77, drawings of Omniglot and CIFAR-10, whichever are in the data folder.",
        {
            "case": any_of(ENCODER_CASES, "The case to measure, once or several times. Default: all that are there."),
            "n_items": count(None, "Number of items of CIFAR-10 to learn from. Default: all."),
            "seed": count(0, "Seed of all random numbers: the answers, the labels and the weights.", 0),
            **DATA,
            **THREADS,
        },
    ),
    "landscape": (
        "Compare a row of a loss surface with a loop over its points.\n\nAnd with torch.func.vmap.",
        {
            "n_items": count(1000, "Number of items that the losses are over.", 2),
            "points": count(91, "Number of points in one row of the grid."),
            "repeats": count(3, "Number of measurements of each."),
            **THREADS,
        },
    ),
    "questions": (
        "Ask simulated people what the chooser would ask.\n\n"
        "Counts the answers until 95 % of the items are in the right class, beside random pairs and two published ways "
        "to choose.",
        {
            "case": any_of(QUESTION_CASES, "The case to measure, once or several times. Default: all."),
            "seeds": count(10, "Number of simulated people for each case."),
            "figure": Choice(Annotated[Path | None, typer.Option(help="Draw the curves to this file, too.")]),
            **DATA,
        },
    ),
    "clustering": (
        "Run every clustering method on drawings of Omniglot.\n\n"
        "There are about 940 of them, with an answer, often wrong, about each pair.",
        {"method": any_of(CLUSTER_METHODS, "The method, once or several times. Default: all."), **DATA},
    ),
}


@app.callback()
def bench() -> None:
    """Measure time and memory side by side."""


def command(name: str, options: dict[str, Choice]) -> Any:
    """The function of a command, with the signature that typer reads."""

    def measure(out: Path, threads: int | None = None, **arguments: Any) -> None:
        _check_writable(out)

        from likewise.storage.records import write_json

        with _threads(threads) if "threads" in options else nullcontext():
            run = import_module(f"likewise.benchmarks.{name}").run
            resumed = {"out": out} if "out" in inspect.signature(run).parameters else {}
            record, lines = run(**arguments, **resumed)
            write_json(out, record)
        for line in lines:
            typer.echo(line)
        typer.echo(f"Wrote {out}.")

    where = Choice(Annotated[Path, typer.Option(help="Write to this JSON file.")], Path(f"benchmarks/{name}.json"))
    parameters = [
        inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, default=choice.default, annotation=choice.kind)
        for each, choice in {"out": where, **options}.items()
    ]
    measure.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    measure.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return measure


for _name, (_help, _options) in BENCHMARKS.items():
    app.command(_name, help=_help)(command(_name, _options))


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """Inside, torch has this many threads, if a number is given."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_writable(out: Path) -> None:
    """Refuse before minutes of measuring, not after them."""
    if out.is_dir():
        raise InputError(f"{out} is a folder; give --out the name of a file.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out.parent} cannot be made ({error.strerror}); give --out another place.") from error
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"{out.parent} cannot be written to; give --out another place.")
