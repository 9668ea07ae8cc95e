"""`loss_surface`: the losses on a plane through the weights of one network, or of three; kept in a file, if wanted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor, nn

from likewise.datasets import Items
from likewise.errors import InputError
from likewise.landscape.grid import Part, compute_rows
from likewise.landscape.job import BatchNorm, Job, Span, make_job
from likewise.landscape.losses import LOSSES, FixedBatch, chance_level, labelled_batches
from likewise.landscape.plane import Biases
from likewise.landscape.runs import open_runs
from likewise.landscape.surface import Surface
from likewise.storage.records import as_json, first_difference
from likewise.storage.run_folder import lock_folder

Solution = nn.Module | str | Path


def loss_surface(
    solution: Solution,
    mutual: Sequence[Solution] = (),
    *,
    inputs: Tensor | None = None,
    labels: Tensor | None = None,
    losses: Sequence[str] = LOSSES,
    grid: int = 91,
    span: Span | None = None,
    items: int = 1000,
    batch_size: int = 100,
    batch_norm: BatchNorm = "recomputed",
    biases: Biases = "left-out",
    seed: int = 0,
    data: Path | str | None = None,
    out: Path | str | None = None,
    processes: int = 1,
    progress: bool = False,
) -> Surface:
    """f(alpha, beta) = L(theta* + alpha delta + beta eta) on a square grid (the paper's appendix A).

    Parameters
    ----------
    solution : theta*, the folder of a run with class labels, or a network.
    mutual : two more solutions of the same network. delta and eta then lead to them; otherwise both are random, and
        each filter has the norm of the trained one.
    inputs, labels : for a network: items as it takes them, (n, ...), and their classes, (n,). A run knows its own.
    losses : of "ce", "mcl" and "kcl".
    grid, span : points per side, and from where to where; a number is for both sides of the centre. By default -1 to 1,
        and -0.5 to 1.5 between three solutions.
    items, batch_size : so many random items, in batches that are the same at every point. MCL and KCL are over the
        pairs within a batch.
    batch_norm : "recomputed" has the statistics of the batch at each point, as in training. The loss is then a function
        of the weights alone, and the size of a filter does not matter, which is why directions may be scaled by it.
        "stored" keeps the statistics of the solution; between three solutions it mixes theirs, and beyond them a
        variance may come out negative, which leaves gaps.
    biases : of random directions: "left-out" keeps biases and batch-norm's weights as they are, "normalised" moves
        each such vector by its norm.
    seed : of the items and of random directions.
    data : the folder of the data sets; otherwise LIKEWISE_DATA.
    out : the .npz file to write. Finished rows are kept beside it, and a stopped run resumes from there.
    processes : among how many to divide the rows.

    >>> from likewise.networks import build
    >>> import torch
    >>> network, x = build("mlp", 3, (4,), seed=0), torch.eye(4).repeat(5, 1)
    >>> surface = loss_surface(network, inputs=x, labels=torch.arange(20) % 3, losses=["mcl"], grid=5)
    >>> surface["mcl"].shape, surface.beta.tolist()
    ((5, 5), [-1.0, -0.5, 0.0, 0.5, 1.0])
    """
    solutions = [solution, *mutual]
    own = [each for each in solutions if isinstance(each, nn.Module)]
    runs = [each for each in solutions if not isinstance(each, nn.Module)]
    if own and runs:
        raise InputError("Give run folders or networks, not some of each.")
    if own:
        networks, batches = own, _own_batches(inputs, labels, items, batch_size, seed)
        names: dict[str, Any] = {"runs": [type(network).__name__ for network in networks]}
    else:
        networks, batches, names = open_runs(runs, data, items=items, batch_size=batch_size, seed=seed)
    job = make_job(
        networks,
        batches,
        losses=losses,
        grid=grid,
        span=span,
        batch_norm=batch_norm,
        biases=biases,
        seed=seed,
    )
    about = describe(job, names, batch_size=batch_size, biases=biases, seed=seed)
    surface = compute_surface(
        job, about, out=None if out is None else Path(out), processes=processes, progress=progress
    )
    assert surface is not None  # all rows are of one part
    return surface


def describe(job: Job, names: Mapping[str, Any], *, batch_size: int, biases: str, seed: int) -> dict[str, Any]:
    """How a surface is made, for its file and for a run that resumes it."""
    mutual = len(names["runs"]) == 3
    return {
        **names,
        "projection": "mutual" if mutual else "random",
        "losses": list(job.losses),
        "grid": len(job.alpha),
        "from": job.alpha[0],
        "to": job.alpha[-1],
        "items": sum(len(batch.inputs) for batch in job.batches),
        "batch_size": batch_size,
        "batch_norm": job.batch_norm,
        "biases": "as they are" if mutual else biases,
        "seed": seed,
        "checksum": job.checksum(),
    }


def compute_surface(
    job: Job,
    about: Mapping[str, Any],
    *,
    out: Path | None = None,
    part: Part = (1, 1),
    processes: int = 1,
    progress: bool = False,
) -> Surface | None:
    """Compute a job, or resume it; None while rows of other parts are missing. A finished file is read again."""
    if out is not None and out.exists():
        return finished(out, about)
    folder = None if out is None else out.with_name(f"{out.name}.rows")
    computed = compute_rows(job, about, folder=folder, part=part, processes=processes, progress=progress)
    if computed is None:
        return None
    values, cpu_seconds = computed
    chance = {loss: chance_level(loss, job.n_outputs, job.batches) for loss in job.losses}
    surface = Surface(np.array(job.alpha), np.array(job.beta), job.losses, values, chance, as_json(about), cpu_seconds)
    if out is not None and folder is not None:
        with lock_folder(folder):
            surface.save(out)
            shutil.rmtree(folder)
    return surface


def finished(out: Path, about: Mapping[str, Any]) -> Surface:
    """A surface that was computed before, if it is this one."""
    surface = Surface.load(out)
    difference = first_difference(surface.about, as_json(about))
    if difference:
        name, was, now = difference
        raise InputError(f"{out} holds a surface with {name} = {was!r}, now it is {now!r}; give another file name.")
    return surface


def _own_batches(
    inputs: Tensor | None, labels: Tensor | None, items: int, batch_size: int, seed: int
) -> tuple[FixedBatch, ...]:
    if inputs is None or labels is None:
        raise InputError("A network alone does not know its items; give inputs and labels.")
    if not inputs.is_floating_point():
        raise InputError(f"inputs must be floats, as the network takes them, got {inputs.dtype}.")
    return labelled_batches(Items(inputs, labels), n=items, batch_size=batch_size, seed=seed)
