"""`likewise landscape`: the loss surfaces around a run, or between three, as the paper's appendix A draws them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from likewise.cli.items import check_shape, index_answers, open_for, read_all
from likewise.cli.options import BatchSize, Data, DatasetName, ItemsMoved, NetworkName, Processes
from likewise.cli.outputs import check_file, writing
from likewise.cli.processes import rank_and_size
from likewise.cli.run_files import items_of, read_answers, require_fit
from likewise.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from likewise.landscape import Surface
    from likewise.landscape.job import FixedBatch

PICTURES = (".png", ".svg", ".pdf", ".html")


def landscape(
    run: Annotated[Path, typer.Argument(help="The folder of a finished run: of paper table1, or of fit.")],
    out: Annotated[Path, typer.Option(help="Write to this .npz file; the same command resumes a stopped one.")],
    mutual: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Two more runs of the same network: the plane goes through all three.", show_default=False),
    ] = None,
    plot: Annotated[
        list[Path] | None,
        typer.Option(help="A .png, .svg or .pdf to draw, or an .html to turn; may be given more than once."),
    ] = None,
    loss: Annotated[
        str, typer.Option(metavar="mcl,kcl,ce", help="The losses to compute; ce needs class labels.")
    ] = "mcl,kcl,ce",
    grid: Annotated[int, typer.Option(min=2, help="Points per side of the grid.")] = 91,
    span: Annotated[
        str | None,
        typer.Option("--range", metavar="R|FROM,TO", help="How far; 1.0 by default, with --mutual -0.5,1.5."),
    ] = None,
    n_items: Annotated[int, typer.Option(min=2, help="Number of items that the losses are over.")] = 1000,
    batch_size: BatchSize = 100,
    batch_norm: Annotated[
        Literal["recomputed", "stored"], typer.Option(help="Statistics of each batch at each point, or the run's own.")
    ] = "recomputed",
    biases: Annotated[
        Literal["left-out", "normalised"], typer.Option(help="In random directions: biases and batch-norm's weights.")
    ] = "left-out",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers: the items and the directions.")] = 0,
    part: Annotated[
        str, typer.Option(metavar="K/N", help="Only the K-th of N parts; the last one merges all.")
    ] = "1/1",
    processes: Processes = 1,
    dataset: Annotated[
        DatasetName | None, typer.Option(help="The data set of the run, where it does not say so.")
    ] = None,
    network: Annotated[
        NetworkName | None, typer.Option(help="The network of the run, where it does not say so.")
    ] = None,
    data: Data = None,
    items: ItemsMoved = None,
) -> None:
    """Compute and draw the losses on a grid of weights."""
    check_file(out, "--out", (".npz",))
    for path in plot or ():
        check_file(path, "--plot", PICTURES)

    from likewise.landscape.compute import compute_surface, describe
    from likewise.landscape.grid import read_part
    from likewise.landscape.job import make_job

    rank, size = rank_and_size()
    part = f"{rank + 1}/{size}" if size > 1 and part == "1/1" else part  # under torchrun
    share, reach = read_part(part), _span(span)
    runs = [run, *(mutual or ())]
    how = {"items": n_items, "batch_size": batch_size, "seed": seed}
    networks, batches, names = (
        _fitted(runs, items, **how)
        if (run / "classifier.json").exists()
        else _trained(runs, data, dataset, network, **how)
    )
    wanted = [name.strip() for name in loss.split(",") if name.strip()]
    job = make_job(
        networks, batches, losses=wanted, grid=grid, span=reach, batch_norm=batch_norm, biases=biases, seed=seed
    )
    about = describe(job, names, batch_size=batch_size, biases=biases, seed=seed)
    with writing(out, "--out"):
        surface = compute_surface(job, about, out=out, part=share, processes=processes, progress=True)
    if surface is None:
        typer.echo(f"Part {part} is done; {out} is written when all parts are.")
        return
    for line in _in_words(surface):
        typer.echo(line)
    typer.echo(f"Wrote {out}.")
    if plot:
        from likewise.reporting.surfaces import draw_surface

        for path in plot:
            with writing(path, "--plot"):
                draw_surface(path, surface)
            typer.echo(f"Wrote {path}.")


def _span(text: str | None) -> float | tuple[float, float] | None:
    if text is None:
        return None
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    match numbers:
        case [reach]:
            return reach
        case [low, high]:
            return low, high
    raise InputError(f"--range must be a number, or two with a comma between them, got {text!r}.")


def _trained(
    runs: Sequence[Path], data: Path | None, dataset: str | None, network: str | None, **how: int
) -> tuple[list[nn.Module], tuple[FixedBatch, ...], dict[str, Any]]:
    """Runs on a labelled set."""
    from likewise.landscape.compute import open_runs

    return open_runs(runs, data, dataset=dataset, network=network, **how)


def _fitted(
    runs: Sequence[Path], moved: Path | None, *, items: int, batch_size: int, seed: int
) -> tuple[list[nn.Module], tuple[FixedBatch, ...], dict[str, Any]]:
    """Runs of `fit`, on the answers of the first."""
    from likewise.estimators import PairClassifier
    from likewise.estimators.inputs import of_unit_length
    from likewise.landscape.job import answered_batches

    fits = [require_fit(run) for run in runs]
    models = [PairClassifier.load(run) for run in runs]
    model, path = models[0], items_of(runs[0], moved)
    loaded = read_all(open_for(model, path, columns=fits[0].columns))
    check_shape(loaded.items, model, path)
    answers = index_answers(read_answers(runs[0], fits[0])[0], loaded)
    form, inputs = model.input_form_, loaded.items.inputs
    batches = answered_batches(
        of_unit_length(inputs) if form.unit_length else inputs,
        answers,
        n=items,
        batch_size=batch_size,
        seed=seed,
        mean=form.mean,
        std=form.std,
    )
    names = {"network": type(model.network_).__name__.lower(), "runs": [run.name for run in runs]}
    return [each.network_ for each in models], batches, names


def _in_words(surface: Surface) -> list[str]:
    """From where to where each loss goes, what it is by chance, how much of the grid is low, and the gaps."""
    from likewise.landscape import finite_range, share_below

    lines = [f"{'':<5}{'lowest':>10}{'highest':>10}{'chance':>10}  below half of chance"]
    for loss in surface.losses:
        chance, gaps = surface.chance[loss], surface.gaps(loss)
        numbers = "".join(f"{number:>10.4g}" for number in (*finite_range(surface[loss]), chance))
        share = f"{100 * share_below(surface[loss], chance / 2):.1f} % of the grid"
        note = f"; {gaps} points without a finite loss" if gaps else ""
        lines.append(f"{loss.upper():<5}{numbers}  {share}{note}")
    return lines
