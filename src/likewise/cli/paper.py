"""`likewise paper`: run the paper's tables and write RESULTS.md from the records."""

from __future__ import annotations

from pathlib import Path

import typer

app = typer.Typer(no_args_is_help=True, help="Run the paper's tables and put the figures side by side.")

RESULTS = typer.Option(Path("results"), help="Folder of the records.")


@app.command()
def table1(
    dataset: str | None = typer.Option(None, help="mnist, cifar10 or cifar100; all where not given."),
    network: str | None = typer.Option(None, help="lenet, vgg8, vgg11, vgg16, resnet18, -34, -50 or -101."),
    criterion: str | None = typer.Option(None, help="ce, kcl or mcl."),
    treatment: str | None = typer.Option(None, help="The paper's cures for KCL: none, long or pretrain."),
    seed: int = typer.Option(0, help="Seed of the weights, the order of the data and its augmentation."),
    epochs: int | None = typer.Option(None, help="Compress the schedule in proportion to so many epochs."),
    data: Path | None = typer.Option(None, help="Folder of the data sets; otherwise LIKEWISE_DATA."),
    runs: Path = typer.Option(Path("runs"), help="Folder of the run folders; a run that was cut goes on there."),
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
    typer.echo(f"Table 1, {len(entries)} {'entry' if len(entries) == 1 else 'entries'}:")
    for entry in entries:
        typer.echo(f"  {entry.name} (paper: {entry.paper_error} % in {entry.paper_settings.epochs} epochs)")

    from likewise.paper.table1 import run_entries

    for record, path in run_entries(entries, data=data, runs=runs, results=results):
        minutes = record.cpu_seconds / 60
        typer.echo(f"{path}: error {record.error:.2f} %, paper {record.paper_error} %; {minutes:.1f} core-minutes")


@app.command()
def show(
    results: Path = RESULTS,
    out: Path = typer.Option(Path("RESULTS.md"), help="The page to write."),
    check: bool = typer.Option(False, "--check", help="Write nothing; exit 1 where the page is out of date."),
) -> None:
    """Write RESULTS.md: the paper's figures beside those of the records."""
    from likewise.files import write_whole
    from likewise.paper.results_page import results_page

    page = results_page(results)
    if check:
        if not out.exists() or out.read_text(encoding="utf-8") != page:
            typer.echo(f"{out} is out of date: run likewise paper show.", err=True)
            raise typer.Exit(1)
        typer.echo(f"{out} is up to date.")
        return
    write_whole(out, page)
    typer.echo(f"Wrote {out}.")
