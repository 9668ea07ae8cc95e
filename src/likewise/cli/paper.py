"""`likewise paper`: run the paper's tables and figures and our own on answers; write RESULTS.md from the records.

Under torchrun the rows of a table are dealt out over the processes, and each runs its own as if it were alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from likewise.cli.answer_tables import answers, eci_pp, noise, spherepair
from likewise.cli.options import AblationOption, Data, NetworkName, Processes, Seed, SemiMethod
from likewise.cli.processes import dealt_out
from likewise.cli.transfer_tables import Results, Runs, announce, counts, discovery, flips, table2, table3, table5
from likewise.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Run the paper's tables and put the figures side by side.")


@app.command()
def table1(
    dataset: Annotated[
        Literal["mnist", "cifar10", "cifar100"] | None, typer.Option(help="The data set; all where not given.")
    ] = None,
    network: Annotated[
        Literal["lenet", "vgg8", "vgg11", "vgg16", "resnet18", "resnet34", "resnet50", "resnet101"] | None,
        typer.Option(help="The network; all where not given."),
    ] = None,
    criterion: Annotated[
        Literal["ce", "kcl", "mcl"] | None, typer.Option(help="The criterion; all where not given.")
    ] = None,
    treatment: Annotated[
        Literal["none", "long", "pretrain"] | None, typer.Option(help="The paper's cures for KCL; all where not given.")
    ] = None,
    seed: Seed = 0,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the training; the schedule is compressed in proportion.")
    ] = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Table 1: learning from all pairs of a labelled set.

    Runs the entries that fit every option given, and records their errors.
    """
    from likewise.paper.table1_entries import recipes, select

    entries = select(
        recipes("table1"),
        dataset=dataset,
        network=network,
        criterion=criterion,
        treatment=treatment,
        seed=seed,
        epochs=epochs,
    )
    announce("Table 1", [f"{e.name} (paper: {e.paper_error} % in {e.paper_settings.epochs} epochs)" for e in entries])

    from likewise.paper.table1 import run_entries

    for record, path in run_entries(
        dealt_out(entries, key=lambda entry: entry.name), data=data, runs=runs, results=results
    ):
        minutes = record.cpu_seconds / 60
        typer.echo(f"{path}: error {record.error:.2f} %, paper {record.paper_error} %; {minutes:.1f} core-minutes")


app.command()(table2)
app.command()(table3)


@app.command()
def table4(
    dataset: Annotated[
        Literal["cifar10", "mnist", "digits"] | None, typer.Option(help="The data set; all where not given.")
    ] = None,
    network: Annotated[
        Literal["resnet18", "lenet"] | None,
        typer.Option(help="The network: resnet18 is the paper's; all where not given."),
    ] = None,
    method: Annotated[SemiMethod | None, typer.Option(help="The method; all where not given.")] = None,
    split: Annotated[
        int | None, typer.Option(min=0, help="Which random choice of labels, from 0; else those of the recipe.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the second stage; the schedules are compressed in proportion.")
    ] = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Table 4: learning from a few labels.

    Runs the entries that fit every option given, and records their errors.

    An entry that has a record is not run again.
    """
    from likewise.paper.table4_entries import select_semi, semi_recipes

    entries = select_semi(semi_recipes(), dataset=dataset, network=network, method=method, split=split, epochs=epochs)
    announce("Table 4", [entry.name for entry in entries])

    from likewise.paper.table4 import run_semi_entries

    for record, path, ran in run_semi_entries(
        dealt_out(entries, key=lambda entry: entry.folder), data=data, runs=runs, results=results
    ):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}error {record.error:.2f} %, supervised "
            f"{record.supervised_error:.2f} %; {record.cpu_seconds / 60:.1f} core-minutes"
        )


app.command()(table5)
app.command()(discovery)
app.command()(counts)
app.command()(flips)


app.command()(answers)
app.command()(spherepair)
app.command()(noise)
app.command("eci-pp")(eci_pp)


@app.command()
def ablation(
    dataset: Annotated[
        Literal["mnist", "cifar10", "cifar100"] | None, typer.Option(help="The data set; all where not given.")
    ] = None,
    network: Annotated[
        Literal["lenet", "vgg8", "vgg11"] | None, typer.Option(help="The network; all where not given.")
    ] = None,
    option: Annotated[
        AblationOption | None, typer.Option(help="What is learned: ce, mcl, or mcl with one option; all if not given.")
    ] = None,
    seed: Seed = 0,
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the training, in place of 8 (24 on CIFAR-100).")
    ] = None,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """What lets MCL start early, each option alone.

    Records the errors beside those of CE and plain MCL. An entry that has a record is not run again.
    """
    from likewise.paper.ablation import select_ablation

    entries = select_ablation(dataset=dataset, network=network, option=option, seed=seed, epochs=epochs)
    announce("Ablation", [entry.name for entry in entries])

    from likewise.paper.ablation import run_ablation

    for record, path, ran in run_ablation(
        dealt_out(entries, key=lambda entry: entry.name), data=data, runs=runs, results=results
    ):
        there = "" if ran else "there already; "
        typer.echo(f"{path}: {there}error {record.error:.2f} %; {record.cpu_seconds / 60:.1f} core-minutes")


@app.command()
def landscape(
    dataset: Annotated[
        Literal["mnist", "cifar10", "cifar100"], typer.Option(help="The data set of the runs.")
    ] = "mnist",
    network: Annotated[NetworkName, typer.Option(help="The network of the runs.")] = "lenet",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs of the runs, where their schedule was compressed.")
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Seed of all random numbers: the runs, the items and the directions.")
    ] = 0,
    grid: Annotated[int, typer.Option(min=2, help="Points per side of the grid.")] = 91,
    n_items: Annotated[int, typer.Option(min=2, help="Number of items that the losses are over.")] = 1000,
    processes: Processes = 1,
    data: Data = None,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
) -> None:
    """Appendix A: the loss surfaces of a row of Table 1.

    They lie around and between its CE, MCL and KCL runs. What was computed before is not computed again.
    """
    from likewise.paper.landscape import run_landscape

    record, path, ran = run_landscape(
        dataset=dataset,
        network=network,
        epochs=epochs,
        seed=seed,
        grid=grid,
        items=n_items,
        processes=processes,
        data=data,
        runs=runs,
        results=results,
    )
    for projection in ("random", "mutual"):
        for loss, numbers in getattr(record, projection).items():
            typer.echo(
                f"{projection} {loss}: {100 * numbers['below_half']:.1f} % of the grid below half of the chance level, "
                f"rank correlation with ce {numbers['rank_correlation']:.3f}"
            )
    typer.echo(f"{path}: {'' if ran else 'there already; '}{record.cpu_seconds / 60:.1f} core-minutes")


@app.command()
def show(
    results: Results = Path("results"),
    out: Annotated[Path, typer.Option(help="Write to this page.")] = Path("RESULTS.md"),
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit 1 where the page is out of date.")
    ] = False,
) -> None:
    """Write RESULTS.md from the records.

    Its figures go into docs/ beside it.
    """
    from likewise.paper.answers_section import answers_figures
    from likewise.paper.landscape import draw_landscape, landscape_figures
    from likewise.paper.results_page import results_page
    from likewise.storage.atomic_files import write_atomically

    if not results.is_dir():
        raise InputError(f"{results} is not a folder; give --results the folder of the records.")
    page = results_page(results)
    figures = {out.parent / place: figure for place, figure in answers_figures(results).items()}
    surfaces = {out.parent / place: drawn for place, drawn in landscape_figures(results).items()}
    if check:
        complete = out.exists() and all(path.exists() for path in [*figures, *surfaces])
        if not complete or out.read_text(encoding="utf-8") != page:
            typer.echo(f"{out} is out of date: run likewise paper show.", err=True)
            raise typer.Exit(1)
        typer.echo(f"{out} is up to date.")
        return
    for path, figure in figures.items():
        write_atomically(path, figure)
    for path, (record, projection) in surfaces.items():
        write_atomically(path, draw_landscape(results, record, projection))
    write_atomically(out, page)
    typer.echo(f"Wrote {out}.")
