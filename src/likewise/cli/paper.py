"""`likewise paper`: run the paper's tables and figures and our own on answers; write RESULTS.md from the records.

Under torchrun the rows of a table are dealt out over the processes, and each runs its own as if it were alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from likewise.cli.processes import dealt_out

if TYPE_CHECKING:
    from likewise.paper.transfer_entries import TransferEntry

app = typer.Typer(no_args_is_help=True, help="Run the paper's tables and put the figures side by side.")

DATA = typer.Option(None, help="Folder of the data sets; otherwise LIKEWISE_DATA.")
RUNS = typer.Option(Path("runs"), help="Folder of the run folders; a run that was cut goes on there.")
RESULTS = typer.Option(Path("results"), help="Folder of the records.")


@app.command()
def table1(
    dataset: str | None = typer.Option(None, help="mnist, cifar10 or cifar100; all where not given."),
    network: str | None = typer.Option(None, help="lenet, vgg8, vgg11, vgg16, resnet18, -34, -50 or -101."),
    criterion: str | None = typer.Option(None, help="ce, kcl or mcl."),
    treatment: str | None = typer.Option(None, help="The paper's cures for KCL: none, long or pretrain."),
    seed: int = typer.Option(0, help="Seed of the weights, the order of the data and its augmentation."),
    epochs: int | None = typer.Option(None, help="Compress the schedule in proportion to so many epochs."),
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Run the entries of Table 1 that fit every option given, and record their errors."""
    from likewise.paper.entries import select
    from likewise.paper.recipe import recipes

    entries = select(
        recipes("table1"),
        dataset=dataset,
        network=network,
        criterion=criterion,
        treatment=treatment,
        seed=seed,
        epochs=epochs,
    )
    _announce("Table 1", [f"{e.name} (paper: {e.paper_error} % in {e.paper_settings.epochs} epochs)" for e in entries])

    from likewise.paper.table1 import run_entries

    for record, path in run_entries(
        dealt_out(entries, key=lambda entry: entry.name), data=data, runs=runs, results=results
    ):
        minutes = record.cpu_seconds / 60
        typer.echo(f"{path}: error {record.error:.2f} %, paper {record.paper_error} %; {minutes:.1f} core-minutes")


RECIPE = typer.Option(None, help="paper, or best: as likewise discover does it; both where not given.")
PART = typer.Option("evaluation", help="evaluation, or validation: five of the background alphabets held out.")
EPOCHS = typer.Option(None, help="Of the classifier; its schedule is compressed in proportion.")
SIMILARITY_EPOCHS = typer.Option(None, help="Of the similarity network, likewise.")
SEED = typer.Option(0, help="Seed of the weights, the order of the data and its augmentation.")


@app.command()
def table2(
    recipe: str | None = RECIPE,
    method: str | None = typer.Option(
        None, help="mcl, kcl, spectral, or one that likewise cluster has; all where not given."
    ),
    classes: str | None = typer.Option(None, help="true: their number is known; 100: it is not; else both."),
    part: str = PART,
    seed: int = SEED,
    epochs: int | None = EPOCHS,
    similarity_epochs: int | None = SIMILARITY_EPOCHS,
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Find the characters of Omniglot's alphabets without a label, and record ACC, NMI and their number.

    An entry that has a record is not run again, and one that was cut goes on with the next alphabet.
    """
    from likewise.paper.transfer_entries import select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(),
        recipe=recipe,
        method=method,
        classes=classes,
        part=part,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 2", entries, data, runs, results)


@app.command()
def table3(
    recipe: str | None = typer.Option(None, help="imagenet, the paper's; cifar10 or mnist-digits; all if not given."),
    method: str | None = typer.Option(None, help="mcl, kcl, k-means, lsc or lpnmf; all where not given."),
    classes: str | None = typer.Option(None, help="true: their number is known; 100: it is not; else both."),
    backbone: Path | None = typer.Option(None, help="A run folder whose network to start from, not to train one."),
    seed: int = SEED,
    epochs: int | None = EPOCHS,
    similarity_epochs: int | None = SIMILARITY_EPOCHS,
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Find classes of ImageNet, or of smaller sets, with a similarity and a network from other classes."""
    from likewise.paper.transfer_entries import TABLE3, select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(TABLE3),
        recipe=recipe,
        method=method,
        classes=classes,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 3", entries, data, runs, results, backbone)


@app.command()
def table5(
    recipe: str | None = RECIPE,
    part: str = PART,
    seed: int = SEED,
    epochs: int | None = EPOCHS,
    similarity_epochs: int | None = SIMILARITY_EPOCHS,
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Count the characters of Omniglot's alphabets: the entries of Table 2 that do not know their number."""
    from likewise.paper.transfer_entries import COUNTING, select_transfer, transfer_recipes

    entries = select_transfer(
        transfer_recipes(),
        recipe=recipe,
        classes="100",
        part=part,
        seed=seed,
        epochs=epochs,
        similarity_epochs=similarity_epochs,
    )
    _transfer("Table 5", [entry for entry in entries if entry.method in COUNTING], data, runs, results)


@app.command()
def table4(
    dataset: str | None = typer.Option(None, help="cifar10, mnist or digits; all where not given."),
    network: str | None = typer.Option(None, help="resnet18, the paper's, or lenet."),
    method: str | None = typer.Option(
        None, help="supervised, pseudo-label, pi-model, vat, spn-mcl, pseudo-mcl or pseudo-mcl+."
    ),
    split: int | None = typer.Option(None, help="Which random choice of labels, from 0; else those of the recipe."),
    epochs: int | None = typer.Option(None, help="Of the second stage; the schedules are compressed in proportion."),
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Run the entries of Table 4 and its smaller sisters that fit every option given, and record their errors.

    An entry that has a record is not run again.
    """
    from likewise.paper.table4_entries import select_semi, semi_recipes

    entries = select_semi(semi_recipes(), dataset=dataset, network=network, method=method, split=split, epochs=epochs)
    _announce("Table 4", [entry.name for entry in entries])

    from likewise.paper.table4 import run_semi_entries

    for record, path, ran in run_semi_entries(
        dealt_out(entries, key=lambda entry: entry.folder), data=data, runs=runs, results=results
    ):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}error {record.error:.2f} %, supervised "
            f"{record.supervised_error:.2f} %; {record.cpu_seconds / 60:.1f} core-minutes"
        )


@app.command()
def answers(
    dataset: str = typer.Option("digits", help="digits or mnist."),
    answers: list[int] = typer.Option([], help="How many random answers; give it once for each number you want."),
    noise: float = typer.Option(0.0, help="The probability that an answer is flipped, below 0.5."),
    model: str = typer.Option("none", help="Of wrong answers: none, given (the rate is told) or learned."),
    seed: int = typer.Option(0, help="Seed of the answers, the weights, the order of the data and its augmentation."),
    epochs: int | None = typer.Option(None, help="Of each stage; otherwise as the recipe has it."),
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Learn a data set from random answers, beside a twin with labels, and record what unseen items say.

    A trial that has a record is not run again.
    """
    from likewise.paper.answers_trials import select_trials

    trials = select_trials(dataset, answers, noise=noise, model=model, seed=seed, epochs=epochs)
    _announce("From answers", [trial.name for trial in trials])

    from likewise.paper.answers import run_trials

    for record, path, ran in run_trials(
        dealt_out(trials, key=lambda trial: trial.seed), data=data, runs=runs, results=results
    ):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}{record.first_accuracy:.2f} % from the answers, "
            f"{record.accuracy:.2f} % with the unlabelled, the twin {record.twin_accuracy:.2f} % "
            f"with {record.twin_labels} labels; {record.cpu_seconds / 60:.1f} core-minutes"
        )


@app.command()
def landscape(
    dataset: str = typer.Option("mnist", help="Of the runs: mnist, cifar10 or cifar100."),
    network: str = typer.Option("lenet", help="Of the runs: lenet, vgg8, vgg11, ..."),
    epochs: int | None = typer.Option(None, help="Of the runs, where their schedule was compressed."),
    seed: int = typer.Option(0, help="Of the runs, the items and the random directions."),
    grid: int = typer.Option(91, help="Points a side."),
    items: int = typer.Option(1000, help="How many training items the losses are over."),
    processes: int = typer.Option(1, help="Among how many to divide the work."),
    data: Path | None = DATA,
    runs: Path = RUNS,
    results: Path = RESULTS,
) -> None:
    """Compute the loss surfaces around and between the CE, MCL and KCL runs of a row of Table 1, and record them.

    What was computed before is not computed again.
    """
    from likewise.paper.landscape import run_landscape

    record, path, ran = run_landscape(
        dataset=dataset,
        network=network,
        epochs=epochs,
        seed=seed,
        grid=grid,
        items=items,
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
    results: Path = RESULTS,
    out: Path = typer.Option(Path("RESULTS.md"), help="The page to write."),
    check: bool = typer.Option(False, "--check", help="Write nothing; exit 1 where the page is out of date."),
) -> None:
    """Write RESULTS.md from the records, and its figures into docs/ beside it."""
    from likewise.files import write_whole
    from likewise.paper.answers_figure import answers_figures
    from likewise.paper.landscape_section import draw_landscape, landscape_figures
    from likewise.paper.results_page import results_page

    page = results_page(results)
    figures = {out.parent / place: figure for place, figure in answers_figures(results).items()}
    surfaces = {out.parent / place: drawn for place, drawn in landscape_figures(results).items()}
    if check:
        whole = out.exists() and all(path.exists() for path in [*figures, *surfaces])
        if not whole or out.read_text(encoding="utf-8") != page:
            typer.echo(f"{out} is out of date: run likewise paper show.", err=True)
            raise typer.Exit(1)
        typer.echo(f"{out} is up to date.")
        return
    for path, figure in figures.items():
        write_whole(path, figure)
    for path, (record, projection) in surfaces.items():
        write_whole(path, draw_landscape(results, record, projection))
    write_whole(out, page)
    typer.echo(f"Wrote {out}.")


def _announce(table: str, entries: list[str]) -> None:
    typer.echo(f"{table}, {len(entries)} {'entry' if len(entries) == 1 else 'entries'}:")
    for entry in entries:
        typer.echo(f"  {entry}")


def _transfer(
    title: str,
    entries: list[TransferEntry],
    data: Path | None,
    runs: Path,
    results: Path,
    backbone: Path | None = None,
) -> None:
    _announce(title, [entry.name for entry in entries])

    from likewise.paper.transfer import run_transfer_entries

    for record, path, ran in run_transfer_entries(
        dealt_out(entries, key=lambda entry: entry.similarity_name),
        data=data,
        runs=runs,
        results=results,
        backbone=backbone,
    ):
        typer.echo(
            f"{path}: {'' if ran else 'there already; '}ACC {record.acc:.1f} %, NMI {record.nmi:.3f}, the number of "
            f"classes off by {record.difference:.1f}; {record.cpu_seconds / 60:.1f} core-minutes, and "
            f"{record.similarity_cpu_seconds / 60:.1f} for the similarity"
        )
