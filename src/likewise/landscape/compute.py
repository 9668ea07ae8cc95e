"""`loss_surface`: the losses on a plane through the weights of one network, or of three; kept in a file, if wanted."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.torch import load as load_tensors
from torch import Tensor, nn

from likewise.datasets import DataSet, Items, load
from likewise.errors import InputError
from likewise.landscape.grid import Part, compute_rows, refuse_earlier_version
from likewise.landscape.job import LOSSES, BatchNorm, FixedBatch, Job, Span, chance_level, labelled_batches, make_job
from likewise.landscape.surface import Biases, Surface
from likewise.networks import build
from likewise.storage.records import as_json, first_difference, read_json
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
        "sha256": job.sha256(),
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
    refuse_earlier_version(out, surface.about)
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


# A finished run with class labels, as likewise paper table1 leaves it: its network, data set and criterion.


@dataclass(frozen=True)
class RunNames:
    """What config.json says of a run."""

    folder: Path
    dataset: str
    network: str
    criterion: str  # empty where it is not said


def open_runs(
    runs: Sequence[Path | str],
    data: Path | str | None = None,
    *,
    items: int,
    batch_size: int,
    seed: int,
    dataset: str | None = None,
    network: str | None = None,
) -> tuple[list[nn.Module], tuple[FixedBatch, ...], dict[str, Any]]:
    """The networks of runs on one data set, batches of its training items, and the names."""
    named = [read_names(run, dataset=dataset, network=network) for run in runs]
    first = named[0]
    for other in named[1:]:
        if other.dataset != first.dataset:
            raise InputError(
                f"{other.folder} was trained on {other.dataset} and {first.folder} on {first.dataset}; "
                "give runs on one data set."
            )
        if other.network != first.network:
            raise InputError(
                f"{other.folder} is a {other.network} and {first.folder} a {first.network}; give runs of one network."
            )
    loaded = load(first.dataset, data)
    batches = labelled_batches(
        loaded.train, n=items, batch_size=batch_size, seed=seed, mean=loaded.mean, std=loaded.std
    )
    names = {
        "dataset": first.dataset,
        "network": first.network,
        "runs": [run.folder.resolve().name for run in named],
        "criteria": [run.criterion for run in named],
    }
    return [read_network(run, loaded) for run in named], batches, names


def read_names(folder: Path | str, *, dataset: str | None = None, network: str | None = None) -> RunNames:
    """The names; what is given takes precedence over what the run says."""
    folder = Path(folder)
    path = folder / "config.json"
    if not path.exists():
        raise InputError(f"{folder} is not a run: config.json is missing; give a folder that a training run wrote.")
    config = read_json(path)
    settings: Any = config.get("config") if isinstance(config, dict) else None
    if not isinstance(settings, dict):
        raise InputError(f"{path} was not written by a training run; give another folder.")
    names = {"dataset": dataset or settings.get("dataset"), "network": network or settings.get("network")}
    for name, value in names.items():
        if not isinstance(value, str):
            raise InputError(f"{path} does not say the {name}; give it (--{name}).")
    return RunNames(folder, str(names["dataset"]), str(names["network"]), str(settings.get("criterion", "")))


def read_network(run: RunNames, data: DataSet) -> nn.Module:
    """The trained network."""
    path = run.folder / "model.safetensors"
    if not path.exists():
        raise InputError(
            f"{run.folder} is not finished, model.safetensors is missing; run its command again to resume."
        )
    try:
        weights = load_tensors(path.read_bytes())
    except Exception as error:  # its readers raise whatever they meet: SafetensorError, KeyError, ValueError, ...
        raise InputError(f"{path} is damaged ({error}); delete it and run its command again.") from error
    n_outputs = len(weights["last.weight"]) if "last.weight" in weights else data.train.n_classes
    network = build(run.network, n_outputs, tuple(data.train.inputs.shape[1:]))
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        problem = str(error).splitlines()[-1].strip()
        raise InputError(f"{path} is not a {run.network} for {run.dataset}: {problem}") from error
    return network
