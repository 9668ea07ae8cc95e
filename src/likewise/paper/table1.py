"""Table 1 of the paper: run its entries, each to a run folder and a record."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from likewise.criteria import KCL, MCL
from likewise.datasets import Augmentation, DataSet, Items, load
from likewise.errors import InputError
from likewise.evaluation import accuracy, confusion, match_outputs, scores
from likewise.networks import build
from likewise.paper.entries import Entry
from likewise.paper.records import Record, write_record
from likewise.supervision import label_objective
from likewise.training import TensorBatches, TrainingResult, predict_logits, train
from likewise.training.run_folder import read_json, write_json

Counts = np.ndarray  # int64 (K, C): rows outputs, columns classes


def run_entries(
    entries: Sequence[Entry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[Record, Path]]:
    """Run each entry, resuming what was begun, and give its record as soon as it is written."""
    names = dict.fromkeys(entry.recipe.dataset for entry in entries)
    sets = {name: load(name, data) for name in names}  # all at first: a missing one should not end hours of work
    for entry in entries:
        record = run_entry(entry, sets[entry.recipe.dataset], runs / entry.recipe.table / entry.name)
        yield record, write_record(results, record)


def run_entry(entry: Entry, data: DataSet, run: Path) -> Record:
    """Train one entry of the table in the folder `run`, or go on there, and measure it."""
    criterion = criterion_of(entry)
    network = new_network(entry, data)
    folders = [run]
    if entry.pretrain_labels:
        folders.insert(0, run / "pretrain")
        few = stratified(data.train, entry.pretrain_labels, entry.seed)
        _train(entry, network, few, data, nn.CrossEntropyLoss(), folders[0])
    result = _train(entry, network, data.train, data, criterion, run)

    train_counts = count_outputs(network, data.train, data)
    test_counts = count_outputs(network, data.test, data)
    matching = matching_of(criterion, train_counts)
    test_scores = scores(test_counts, matching)
    # From the folders and not the result, so that a run that was finished long ago has the same record again.
    times = [read_json(folder / "metrics.json") for folder in folders]
    if not (run / "machine.json").exists():
        write_json(run / "machine.json", machine())
    made_with = read_json(run / "machine.json")
    return Record(
        table=entry.recipe.table,
        dataset=entry.recipe.dataset,
        network=entry.recipe.network,
        criterion=entry.criterion,
        treatment=entry.treatment,
        seed=entry.seed,
        epochs=result.settings.epochs,
        paper_epochs=entry.paper_settings.epochs,
        drops=list(result.settings.drops),
        settings={**asdict(result.settings), **beyond_settings(entry)},
        paper_error=entry.paper_error,
        error=percent_wrong(test_counts, matching),
        train_error=percent_wrong(train_counts, matching),
        scores={name: round(value, 6) for name, value in test_scores.items() if name not in ("accuracy", "error")},
        seconds=round(sum(part["seconds"] for part in times), 1),
        cpu_seconds=round(sum(part["cpu_seconds"] for part in times), 1),
        command=entry.command,
        **made_with,
    )


def criterion_of(entry: Entry) -> nn.Module:
    if entry.criterion == "ce":
        return nn.CrossEntropyLoss()
    if entry.criterion == "kcl":
        return KCL(margin=float(entry.recipe.kcl["margin"]), constant_target=bool(entry.recipe.kcl["constant_target"]))
    return MCL()


def new_network(entry: Entry, data: DataSet) -> nn.Module:
    """Random weights that depend on the seed alone, and leave torch's own random state as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(entry.seed)
        return build(entry.recipe.network, data.train.n_classes, tuple(data.train.inputs.shape[1:]))


def beyond_settings(entry: Entry) -> dict[str, object]:
    """What a run is told besides its names and its Settings."""
    told: dict[str, object] = {"augmentation": asdict(entry.recipe.augmentation)}
    if entry.criterion == "kcl":
        told["kcl"] = dict(entry.recipe.kcl)
    if entry.pretrain_labels:
        told["pretrain_labels"] = entry.pretrain_labels
    return told


def _train(
    entry: Entry, network: nn.Module, items: Items, data: DataSet, criterion: nn.Module, run: Path
) -> TrainingResult:
    settings = entry.settings
    batches = TensorBatches(
        items.inputs,
        items.labels,
        settings.batch_size,
        seed=settings.seed,
        mean=data.mean,
        std=data.std,
        augment=None if entry.recipe.augmentation == Augmentation() else entry.recipe.augmentation,
    )
    names = {
        "table": entry.recipe.table,
        "dataset": entry.recipe.dataset,
        "network": entry.recipe.network,
        "criterion": "ce" if isinstance(criterion, nn.CrossEntropyLoss) else entry.criterion,  # ce in pre-training
        "treatment": entry.treatment,
    }
    return train(
        network,
        batches,
        label_objective(criterion),
        settings,
        n_classes=data.train.n_classes,
        run=run,
        config={**names, **beyond_settings(entry)},
        evaluate=epoch_scores(criterion, data),
    )


def epoch_scores(criterion: nn.Module, data: DataSet) -> Callable[[nn.Module, Counts], dict[str, float]]:
    """For the end of each epoch: the outputs are matched on the epoch's training counts, which cost nothing more."""

    def evaluate(network: nn.Module, train_counts: Counts) -> dict[str, float]:
        matching = matching_of(criterion, train_counts)
        return {"test_accuracy": accuracy(count_outputs(network, data.test, data), matching)}

    return evaluate


def matching_of(criterion: nn.Module, train_counts: Counts) -> np.ndarray:
    """The class of each output: cross-entropy was told, the pairwise criteria are matched on training data."""
    if isinstance(criterion, nn.CrossEntropyLoss):
        return np.arange(train_counts.shape[0])
    return match_outputs(train_counts)


def count_outputs(network: nn.Module, items: Items, data: DataSet) -> Counts:
    logits = predict_logits(network, items.inputs, mean=data.mean, std=data.std)  # (n, K)
    return confusion(logits.argmax(1), items.labels, logits.shape[1], items.n_classes)


def percent_wrong(counts: Counts, matching: np.ndarray) -> float:
    return round(100.0 * (1.0 - accuracy(counts, matching)), 4)


def stratified(items: Items, n: int, seed: int) -> Items:
    """`n` labelled items, equally many of each class (the first classes get one more where n does not divide)."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(items), generator=generator)
    labels = items.labels[order]
    chosen: list[Tensor] = []
    for label in range(items.n_classes):
        wanted = n // items.n_classes + (label < n % items.n_classes)
        of_class = order[labels == label][:wanted]
        if len(of_class) < wanted:
            name = items.class_names[label]
            raise InputError(
                f"Pre-training needs {wanted} items of class {name}, the training set has {len(of_class)}."
            )
        chosen.append(of_class)
    return items.subset(torch.cat(chosen).sort().values)


def machine() -> dict[str, str | int]:
    """What a run was made with."""
    return {
        "likewise": version("likewise"),
        "torch": torch.__version__,
        "cpu": cpu_model(),
        "threads": torch.get_num_threads(),
    }


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
