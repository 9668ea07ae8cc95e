"""The one training loop: every paradigm gives it batches and an objective, and it gives back a trained network."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader, Dataset

from likewise.distributed import agreed, barrier, from_first, is_common, share, sharing
from likewise.errors import InputError
from likewise.storage.atomic_files import is_writer
from likewise.storage.records import as_json, read_json, write_json
from likewise.storage.run_folder import lock_folder, network_tensors, write_history, write_model
from likewise.training.batches import Batch, Batches, LoaderBatches
from likewise.training.checkpoint import State, Tally, load_checkpoint, restore_previous, save_checkpoint
from likewise.training.forward import Objective, forward, gather_outputs, in_parallel, move, synchronise
from likewise.training.inputs import evaluating, modes_kept
from likewise.training.optimizers import (
    OF_SETTINGS,
    MakeOptimizer,
    build_optimizer,
    describe_optimizer,
    learning_rate,
    set_rate,
)
from likewise.training.progress import Silent, reporter
from likewise.training.randomness import STEP, reproducible, seed_all
from likewise.training.settings import Settings, resolve_settings
from likewise.training.stopping import Interrupted, StopRequest, check_loss, check_weights, stop_request

Evaluate = Callable[[nn.Module, np.ndarray], dict[str, float]]  # (network, confusion (K, C)) -> columns of the history
OnEpoch = Callable[[dict[str, float]], object]  # is shown each row of the history


@dataclass
class TrainingResult:
    """What a run gives back; the network itself is trained in place.

    >>> from likewise.networks import build
    >>> from likewise.supervision import label_objective
    >>> from likewise.training import TensorBatches
    >>> batches = TensorBatches(torch.randn(20, 3), torch.arange(20) % 2, batch_size=10)
    >>> objective = label_objective(nn.CrossEntropyLoss())
    >>> result = train(build("linear", 2, (3,)), batches, objective, Settings(epochs=3), n_classes=2, progress=False)
    >>> len(result.history), result.confusion.sum()
    (3, np.int64(20))
    """

    history: list[dict[str, float]]  # one row per epoch
    settings: Settings  # as used: precision and device are no longer "auto"
    seconds: float
    cpu_seconds: float
    confusion: np.ndarray  # int64 (K, n_classes) of the last epoch's training outputs


@dataclass(frozen=True)
class Job:
    """Everything that stays the same from the first step to the last."""

    network: nn.Module
    batches: Batches
    objective: Objective
    optimizer: Optimizer
    settings: Settings
    n_classes: int
    evaluate: Evaluate | None
    run: Path | None
    monitor: str
    on_epoch: OnEpoch | None
    about: Mapping[str, object]  # what a checkpoint must share with this run


def train(
    network: nn.Module,
    batches: Batches | DataLoader[Any] | Dataset[Any],
    objective: Objective,
    settings: Settings,
    *,
    n_classes: int = 0,
    run: Path | str | None = None,
    config: Mapping[str, object] | None = None,
    evaluate: Evaluate | None = None,
    monitor: str = "",
    progress: bool | str = True,
    on_epoch: OnEpoch | None = None,
    optimizer: MakeOptimizer | None = None,
) -> TrainingResult:
    """Train the network in place; with a folder `run`, so that a killed run resumes.

    A torch Dataset or DataLoader may stand in place of the batches: it is read through `LoaderBatches`.
    `objective(network, batch)` gives (loss, logits) and must depend on nothing but its arguments and the global
    generators, which are seeded for each step. Labels are counted for the accuracy of the history, where `n_classes`
    is given; only the objective can make them part of the training. `evaluate(network, confusion)` adds its columns to
    the history at the end of each epoch. `monitor` names a column of the history, lower is better: the network
    then ends with the weights of its best epoch, and `settings.patience` may end the run early. `config` is anything
    else that makes this run what it is: it is written to config.json, and a folder begun with another one is refused.
    `progress` shows a bar or lines; a text in its place names the stage that this run is. `on_epoch(row)` is called
    with each new row of the history, once it is saved, for logging; over several processes, in the first.

    `optimizer(network)` makes an optimizer of your own, with parameter groups if you like, in place of that of the
    settings (their `optimizer`, `momentum` and `weight_decay`). The schedule scales the rates of all groups alike:
    where it is at `settings.learning_rate`, a group is at the rate that it was made with.

    The folder holds config.json, history.csv, checkpoint.safetensors, the checkpoint before it and, at the end,
    model.safetensors and metrics.json. Calling `train` again with the same arguments resumes from the last checkpoint
    that is sound to the same weights and history, bit for bit; a finished run returns its result at once.

    A part of the network that is in evaluation mode stays in it, as one freezes a backbone with `backbone.eval()`: its
    batch-norms keep their statistics, its dropout stays off. Where the network as a whole is in evaluation mode, as
    after a prediction, all of it is trained. Parameters without `requires_grad` are never changed. Afterwards every
    part is in the mode that it was in.

    In a job of several processes (see `likewise.distributed.join`) all of them call `train` alike. Each has its rows of
    every batch, the loss and the steps are those of the whole batch, and the first process alone writes to the folder,
    which all must be able to read. Such a run may resume with another number of processes.

    >>> from likewise.networks import build
    >>> from likewise.supervision import label_objective
    >>> from likewise.training import TensorBatches
    >>> batches = TensorBatches(torch.randn(20, 3), torch.arange(20) % 2, batch_size=10)
    >>> objective = label_objective(nn.CrossEntropyLoss())
    >>> result = train(build("linear", 2, (3,)), batches, objective, Settings(epochs=3), progress=False)
    >>> [row["epoch"] for row in result.history]
    [1, 2, 3]
    """
    folder = None if run is None else Path(run)
    if isinstance(batches, DataLoader | Dataset):
        batches = LoaderBatches(batches, settings.batch_size, settings.seed)
    with lock_folder(folder), reproducible(), modes_kept(network), gather_outputs(network), stop_request() as stop:
        if not network.training:
            network.train()
        _check_common(settings, n_classes, len(batches))
        settings = resolve_settings(folder, settings, config or {}, network)
        made = build_optimizer(network, settings, torch.device(settings.device), optimizer)
        about = {
            "settings": dataclasses.asdict(settings),
            "n_classes": n_classes,
            "steps_per_epoch": len(batches),
            "optimizer": OF_SETTINGS if optimizer is None else describe_optimizer(made, network),
        }
        job = Job(network, batches, objective, made, settings, n_classes, evaluate, folder, monitor, on_epoch, about)
        state = _restore(job)
        job = dataclasses.replace(job, objective=in_parallel(network, objective))
        stage = progress if isinstance(progress, str) else ""
        show = reporter(progress if not _finished(job, state) else False)(settings.epochs, len(batches), state, stage)
        with show:
            while not _finished(job, state):
                train_epoch(job, state, stop, show)
        if monitor:
            network.load_state_dict(state.best)
        if folder is not None:
            _write_results(job, folder, state)
            barrier()
    return TrainingResult(state.history, settings, state.seconds, state.cpu_seconds, state.tally.confusion.numpy())


def _check_common(settings: Settings, n_classes: int, steps: int) -> None:
    """Refuse arguments that differ between the processes of a job; only the device may differ."""
    if not is_common(repr((dataclasses.replace(settings, device="cpu"), n_classes, steps)).encode()):
        raise InputError(
            f"The processes of this job do not agree: this one was given {steps} steps per epoch, "
            f"n_classes={n_classes} and {settings}; give all of them the same."
        )


def train_epoch(job: Job, state: State, stop: StopRequest, show: Silent) -> None:
    """Run the rest of the current epoch, add its row to the history, and write its checkpoint."""
    if state.step == 0:
        state.tally = Tally(job.n_classes)
    for batch in job.batches.epoch(state.epoch, state.step):
        loss, logits = train_step(job, state, batch)
        state.tally.add(loss, logits, batch.labels)
        state.step += 1
        state.items += len(batch.labels)
        show.step(state)
        if synchronise(job.network, stop.asked):
            _save(job, state)
            raise _interrupted(job, f"step {state.step} of epoch {state.epoch + 1}")
    state.history.append(_row(job, state))
    if job.monitor and _best_epoch(job, state) == state.epoch:
        state.best = network_tensors(job.network)
    state.epoch, state.step = state.epoch + 1, 0
    _save(job, state)
    show.epoch(state.history[-1], state)
    if job.on_epoch is not None and is_writer():
        job.on_epoch(dict(state.history[-1]))
    if synchronise(job.network, stop.asked):
        raise _interrupted(job, f"epoch {state.epoch}")


def train_step(job: Job, state: State, batch: Batch) -> tuple[float, Tensor]:
    """One step of the optimizer; returns the loss and the logits (b, K)."""
    b = len(batch.labels)
    if not is_common(b"".join(part.cpu().numpy().tobytes() for part in (batch.index, batch.labels))):
        raise InputError(
            f"The processes of this job do not have the same batch at {_place(job, _global_step(job, state))}: give "
            "all of them the same items in the same order, the same answers and the same seed."
        )
    seed_all(job.settings.seed, STEP, _global_step(job, state), *share(b).salt)
    set_rate(job.optimizer, learning_rate(job.settings, state.epoch, state.step, len(job.batches)), job.settings)
    job.optimizer.zero_grad()
    batch = move(batch, torch.device(job.settings.device))
    with sharing(b):
        loss, logits = forward(job.objective, job.network, batch, job.settings.precision)
        value = loss.item()
        check_loss(value, logits, batch, job.settings, _place(job, _global_step(job, state)))
        loss.backward()  # type: ignore[no-untyped-call]
    if job.settings.clip_norm:
        own = [parameter for group in job.optimizer.param_groups for parameter in group["params"]]
        nn.utils.clip_grad_norm_(own, job.settings.clip_norm)
    job.optimizer.step()
    return value, logits


def _finished(job: Job, state: State) -> bool:
    waited = state.epoch - 1 - _best_epoch(job, state) if job.monitor and state.history else 0
    return state.epoch >= job.settings.epochs or 0 < job.settings.patience <= waited


def _best_epoch(job: Job, state: State) -> int:
    """The first epoch, counted from 0, with the lowest monitored figure."""
    figures = [row[job.monitor] for row in state.history]
    return figures.index(min(figures))


def _restore(job: Job) -> State:
    path = job.run and job.run / "checkpoint.safetensors"
    if path is None or not from_first(lambda: restore_previous(path)):
        return State(Tally(job.n_classes))
    return load_checkpoint(path, job.network, job.optimizer, job.about, job.n_classes)


def _save(job: Job, state: State) -> None:
    check_weights(job.network, job.settings, _place(job, _global_step(job, state) - 1))
    state.read_clock()
    if job.run is not None:
        save_checkpoint(job.run / "checkpoint.safetensors", state, job.network, job.optimizer, job.about)
        if state.history:
            write_history(job.run / "history.csv", state.history)


def _row(job: Job, state: State) -> dict[str, float]:
    """The epoch's row of the history; nothing in it depends on the clock, so a resumed run has the same."""
    rate = learning_rate(job.settings, state.epoch, len(job.batches) - 1, len(job.batches))
    row = {"epoch": state.epoch + 1, "learning_rate": rate, "loss": state.tally.loss}
    if job.n_classes:
        row["accuracy"] = state.tally.accuracy()
    if job.evaluate is not None:
        seed_all(job.settings.seed, STEP, _global_step(job, state))
        with evaluating(job.network), torch.no_grad():
            columns = job.evaluate(job.network, state.tally.confusion.numpy())
        row |= {name: float(value) for name, value in columns.items()}
    return agreed(row)  # all ranks must choose the same best epoch, and the same last one


def _write_results(job: Job, run: Path, state: State) -> None:
    """Write the final files unless an earlier call did; metrics.json comes last and marks the run as finished."""
    row = state.history[_best_epoch(job, state) if job.monitor else -1]
    steps = _global_step(job, state)  # past the best epoch too
    metrics = {**row, "steps": steps, "seconds": state.seconds, "cpu_seconds": state.cpu_seconds}
    metrics["images_per_second"] = state.items / state.seconds
    if (run / "metrics.json").exists() and read_json(run / "metrics.json") == as_json(metrics):
        return
    write_history(run / "history.csv", state.history)
    write_model(run / "model.safetensors", job.network)
    write_json(run / "metrics.json", metrics)


def _interrupted(job: Job, place: str) -> Interrupted:
    how = "run the same command again to resume" if job.run else "nothing was saved, because there is no run folder"
    return Interrupted(f"Stopped after {place}; {how}.")


def _global_step(job: Job, state: State) -> int:
    return state.epoch * len(job.batches) + state.step


def _place(job: Job, global_step: int) -> str:
    epoch, step = divmod(global_step, len(job.batches))
    return f"step {step + 1} of epoch {epoch + 1} (step {global_step + 1} of the run)"
