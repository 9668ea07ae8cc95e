"""`likewise bench`: time and memory beside what one would write or use instead, measured in one run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from likewise.cli.options import CLUSTER_METHODS, Data, several_of
from likewise.errors import InputError

Threads = Annotated[int | None, typer.Option(min=1, help="Threads; as many as torch takes where not given.")]
ANSWER_CASES = ("features", "images")
MEASURED = ("check", "cluster", "discover", "fit", "landscape", "name", "predict", "report", "semi")

app = typer.Typer(no_args_is_help=True, help="Measure time and memory side by side.")


@app.callback()
def bench() -> None:
    """Measure time and memory side by side."""


@app.command()
def criterion(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/criterion.json"),
    repeats: Annotated[
        int | None, typer.Option(min=1, help="How often each is measured; by default by the time it takes.")
    ] = None,
    threads: Threads = None,
) -> None:
    """MCL and KCL beside other ways to compute them.

    These are naive enumeration of the pairs, the bare matrix products and cross-entropy.
    """
    _check_writable(out)

    from rich.console import Console

    from likewise.benchmarks.criterion import CRITERIA, SIZES, measure_cases, print_report, record
    from likewise.storage.records import write_json

    with _threads(threads):
        screen, cases = Console(), []
        for case in measure_cases(SIZES, repeats):
            cases.append(case)
            if screen.is_terminal:  # a line and no live bar: one that redraws itself takes time from what is measured
                name = f"{case.criterion.upper()} ({case.b}, {case.outputs})"
                screen.print(f"{len(cases)}/{len(SIZES) * len(CRITERIA)}  {name}: {case.milliseconds['ours']} ms")
        write_json(out, record(cases))
    print_report(cases, screen if screen.is_terminal else Console(width=120))
    typer.echo(f"Wrote {out}.")


@app.command()
def pairs(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/pairs.json"),
    answers: Annotated[int, typer.Option(min=1, help="How many answers to make up.")] = 10_000_000,
) -> None:
    """Made-up answers from a CSV file: load, close and check them."""
    _check_writable(out)

    from likewise.benchmarks.pairs import measure_alone, record, report, write_answers
    from likewise.storage.records import write_json

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "answers.csv"
        write_answers(file, answers)
        steps = measure_alone(file)
    write_json(out, record(answers, steps))
    for line in report(answers, steps):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def posterior(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/posterior.json"),
    answers: Annotated[
        int, typer.Option(min=1000, help="How many answers at most; also a tenth and a hundredth of these.")
    ] = 10_000_000,
) -> None:
    """Made-up answers, one in ten wrong: judge them all together.

    With the answers alone, and with the outputs of a classifier; ten answers for each item.
    """
    _check_writable(out)

    from likewise.benchmarks.posterior import CASES, measure_alone, record, report
    from likewise.storage.records import write_json

    costs = [measure_alone(case, answers // part) for case in CASES for part in (100, 10, 1)]
    write_json(out, record(costs))
    for line in report(costs):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def similarity(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/similarity.json"),
    repeats: Annotated[int, typer.Option(min=1, help="How often each is measured: training steps.")] = 5,
    threads: Threads = None,
) -> None:
    """A training step of the similarity network.

    It stands beside one with all pairs of features written out.
    """
    _check_writable(out)

    from likewise.benchmarks.similarity import compare, record, report
    from likewise.storage.records import write_json

    with _threads(threads):
        comparison = compare(repeats=repeats)
        write_json(out, record(comparison))
    for line in report(comparison):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def semi(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/semi.json"),
    repeats: Annotated[int, typer.Option(min=1, help="How often each is measured: epochs.")] = 5,
    threads: Threads = None,
) -> None:
    """An epoch of Pseudo-MCL beside an epoch of the Pi-model.

    The Pi-model sees as much and compares no pairs.
    """
    _check_writable(out)

    from likewise.benchmarks.semi import compare, record, report
    from likewise.storage.records import write_json

    with _threads(threads):
        measured = compare(repeats=repeats)
        write_json(out, record(measured))
    for line in report(measured):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def answers(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/answers.json"),
    case: Annotated[
        list[str] | None, several_of(ANSWER_CASES, "The case to measure, once or several times; by default both.")
    ] = None,
    data: Data = None,
    threads: Threads = None,
) -> None:
    """A fit from 1,000 answers beside as many steps with labels.

    The items are 900 feature vectors and 60,000 images: the photos' features and MNIST where they are in the data
    folder, else made up.
    """
    _check_writable(out)

    from likewise.benchmarks.answers import measure, open_pile, record, report
    from likewise.storage.records import write_json

    with _threads(threads):
        costs = [measure(open_pile(name, data)) for name in case or ANSWER_CASES]
        write_json(out, record(costs))
    for line in report(costs):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def distributed(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/distributed.json"),
    batch_size: Annotated[
        list[int] | None, typer.Option(min=2, help="Items per batch; by default 256, 1,024 and 4,096.")
    ] = None,
    processes: Annotated[
        list[int] | None, typer.Option(min=1, help="How many processes share the work; by default 1, 2 and 4.")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each is measured: steps.")] = 20,
) -> None:
    """A training step in several processes: time and bytes sent.

    Both are measured against the size of the batch and the number of processes.
    """
    _check_writable(out)

    from likewise.benchmarks.distributed import BATCHES, PROCESSES, measure, record, report
    from likewise.storage.records import write_json

    steps = [step for size in processes or PROCESSES for step in measure(batch_size or BATCHES, size, repeats)]
    write_json(out, record(steps, repeats))
    for line in report(steps):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def landscape(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/landscape.json"),
    n_items: Annotated[int, typer.Option(min=2, help="How many items the losses are over.")] = 1000,
    points: Annotated[int, typer.Option(min=1, help="Points of one row of the grid.")] = 91,
    repeats: Annotated[int, typer.Option(min=1, help="How often each is measured.")] = 3,
    threads: Threads = None,
) -> None:
    """A row of a loss surface beside a loop over its points.

    And beside torch.func.vmap.
    """
    _check_writable(out)

    from likewise.benchmarks.landscape import compare, record, report
    from likewise.storage.records import write_json

    with _threads(threads):
        comparison = compare(n_items, points, repeats)
        write_json(out, record(comparison))
    for line in report(comparison):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def clustering(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/clustering.json"),
    method: Annotated[
        list[str] | None, several_of(CLUSTER_METHODS, "The method, once or several times; by default all.")
    ] = None,
    data: Data = None,
) -> None:
    """Every clustering method on drawings of Omniglot.

    There are about 940 of them, with an answer, often wrong, about each pair.
    """
    _check_writable(out)

    from likewise.benchmarks.clustering import measure, open_pile, record, report
    from likewise.storage.records import write_json

    pile = open_pile(data)
    costs = list(measure(pile, method or list(CLUSTER_METHODS)))
    write_json(out, record(pile, costs))
    for line in report(costs):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")


@app.command()
def growth(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/growth.json"),
    page: Annotated[
        Path,
        typer.Option(help="Write to this page, and its figure growth.svg beside it; with all commands."),
    ] = Path("docs/budgets.md"),
    command: Annotated[
        list[str] | None, several_of(MEASURED, "The command to measure, once or several times; by default all.")
    ] = None,
) -> None:
    """What each command costs, and how that grows.

    Items, answers, classes or the batch grow tenfold.
    """
    for place in (out, page):
        _check_writable(place)

    from likewise.benchmarks.growth import BUDGETS, measure, record, report
    from likewise.benchmarks.growth_page import growth_page
    from likewise.reporting.growth_figure import Line, growth_figure
    from likewise.storage.atomic_files import write_atomically
    from likewise.storage.machine import machine
    from likewise.storage.records import write_json

    budgets = [budget for budget in BUDGETS if not command or budget.command.split()[0] in command]
    found = []
    for budget, grown in zip(budgets, measure(budgets), strict=True):
        found.append(grown)
        for line in report(budget, grown):
            typer.echo(line)
    write_json(out, record(budgets, found))
    typer.echo(f"Wrote {out}.")
    if not command:
        lines = [Line(b.name, g.sizes, g.cpu_seconds, g.mebibytes) for b, g in zip(budgets, found, strict=True)]
        write_atomically(page.parent / "growth.svg", growth_figure(lines))
        write_atomically(page, growth_page(budgets, found, machine()))
        typer.echo(f"Wrote {page}.")


@app.command()
def faults(
    out: Annotated[Path, typer.Option(help="Write to this JSON file.")] = Path("benchmarks/faults.json"),
    kills: Annotated[int, typer.Option(min=1, help="How many runs to kill, each at a moment of its own.")] = 50,
) -> None:
    """Training runs that are killed: do they end as if they were not?

    A short run is killed at random moments, and its checkpoint is damaged.
    """
    _check_writable(out)

    from likewise.benchmarks.faults import in_words, judge, measure, record
    from likewise.storage.records import write_json

    found = []
    for trial in measure(kills):
        found.append(trial)
        typer.echo(in_words(len(found), trial))
    write_json(out, record(found))
    for bar, measured, verdict in judge(found):
        typer.echo(f"{verdict:<5} {bar}: {measured}")
    typer.echo(f"Wrote {out}.")


@contextmanager
def _threads(number: int | None) -> Iterator[None]:
    """So many of torch's threads, if a number is given, and as many as before afterwards."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check_writable(out: Path) -> None:
    """Refuse before minutes of measuring, and not after."""
    if out.is_dir():
        raise InputError(f"{out} is a folder; give --out the name of a file.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{out.parent} cannot be made ({error.strerror}); give --out another place.") from error
    if not os.access(out.parent, os.W_OK):
        raise InputError(f"{out.parent} cannot be written to; give --out another place.")
