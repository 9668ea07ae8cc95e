"""Table 4 of the paper: learn a data set from a few of its labels, each method on each split to a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import DataSet, Items, load
from likewise.errors import InputError
from likewise.evaluation import accuracy
from likewise.networks import build
from likewise.paper.records import read_record, record_path, write_record
from likewise.paper.table4_entries import TABLE4, SemiEntry, entry_name
from likewise.storage.machine import machine
from likewise.storage.records import read_json, write_json
from likewise.supervision.semi import METHODS, natural_weights
from likewise.training import FewLabelsLearned, Pile, learn_few_labels
from likewise.training.labelled import count_outputs, logits_of


@dataclass(frozen=True)
class SemiRecord:
    """Errors are in %, of the test set. No date: a repeated run writes the same record, apart from the times."""

    table: str
    dataset: str
    network: str
    labels: int
    method: str
    split: int  # also the seed of the weights, the order and the augmentation
    epochs: int  # of the second stage
    recipe_epochs: int  # more than epochs where the schedule was compressed
    supervised_epochs: int
    settings: dict[str, object]  # everything that the last stage was told
    paper_error: float | None
    error: float
    supervised_error: float  # after the first stage
    fewest: int  # labels of the class that has fewest
    seconds: float  # of all stages that led here, the supervised one too
    cpu_seconds: float
    supervised_cpu_seconds: float
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int

    @property
    def name(self) -> str:
        return entry_name(self.dataset, self.network, self.labels, self.method, self.split, self.epochs)


def run_semi_entries(
    entries: Sequence[SemiEntry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[SemiRecord, Path, bool]]:
    """Run each entry that has no record yet, resuming what was begun; gives record, path and whether it ran."""
    waiting = [entry for entry in entries if not record_path(results, TABLE4, entry.name).exists()]
    sets = {name: load(name, data) for name in {entry.recipe.dataset for entry in waiting}}
    for entry in entries:
        path = record_path(results, TABLE4, entry.name)
        if entry not in waiting:
            yield read_record(path, SemiRecord), path, False
            continue
        record = run_semi_entry(entry, sets[entry.recipe.dataset], runs / TABLE4 / entry.folder)
        yield record, write_record(results, record), True


def run_semi_entry(entry: SemiEntry, data: DataSet, run: Path) -> SemiRecord:
    """Learn one method on one split in the folder `run`, or go on there, and measure it."""
    recipe = entry.recipe
    labels = draw_labels(data.train, recipe.labels, entry.split)
    learned = learn(entry, data, labels, run)
    stages = [read_json(run / stage / "metrics.json") for stage in learned.stages]  # also of a run finished long ago
    last = run / learned.stages[-1]
    if not (last / "machine.json").exists():
        write_json(last / "machine.json", machine())
    weights = natural_weights(recipe.labels, len(data.train))
    return SemiRecord(
        table=TABLE4,
        dataset=recipe.dataset,
        network=recipe.network,
        labels=recipe.labels,
        method=entry.method,
        split=entry.split,
        epochs=entry.n_epochs,
        recipe_epochs=recipe.settings.epochs,
        supervised_epochs=entry.supervised.epochs,
        settings={**asdict(learned.settings), **told(entry), **weights._asdict()},
        paper_error=recipe.expect.get(entry.method),
        error=percent_wrong(learned.network, data),
        supervised_error=percent_wrong(learned.first, data),
        fewest=int(torch.bincount(labels[labels >= 0]).min()),
        seconds=round(sum(stage["seconds"] for stage in stages), 1),
        cpu_seconds=round(sum(stage["cpu_seconds"] for stage in stages), 1),
        supervised_cpu_seconds=round(stages[0]["cpu_seconds"], 1),
        command=entry.command,
        **read_json(last / "machine.json"),
    )


def learn(entry: SemiEntry, data: DataSet, labels: Tensor, run: Path | None) -> FewLabelsLearned:
    recipe = entry.recipe
    shape = tuple(data.train.inputs.shape[1:])

    def evaluate(network: nn.Module, _: np.ndarray) -> dict[str, float]:
        return {"test_accuracy": 1 - percent_wrong(network, data) / 100}

    return learn_few_labels(
        build(recipe.network, data.train.n_classes, shape, seed=entry.split),
        Pile(data.train.inputs, data.mean, data.std, recipe.augmentation),
        labels,
        METHODS[entry.method],
        entry.supervised,
        entry.settings,
        epsilon=recipe.epsilon,
        run=run,
        config={"dataset": recipe.dataset, "network": recipe.network, **told(entry)},
        evaluate=evaluate,
    )


def told(entry: SemiEntry) -> dict[str, object]:
    """What every stage is told besides its Settings."""
    return {"labels": entry.recipe.labels, "augmentation": asdict(entry.recipe.augmentation)}


def draw_labels(items: Items, n: int, split: int) -> Tensor:
    """The labels of `n` random items, -1 for the others; drawn again until every class has one."""
    if n < items.n_classes or n > len(items):
        span = f"{items.n_classes} to {len(items)}"
        raise InputError(f"There must be a label for each class and no more than items, {span}, got {n}.")
    generator = torch.Generator().manual_seed(split)
    while True:
        chosen = torch.randperm(len(items), generator=generator)[:n]
        if torch.bincount(items.labels[chosen], minlength=items.n_classes).min() > 0:
            labels = torch.full((len(items),), -1)
            labels[chosen] = items.labels[chosen]
            return labels


def percent_wrong(network: nn.Module, data: DataSet) -> float:
    """In %, of the test items; cross-entropy decided which output is which class."""
    counts = count_outputs(logits_of(network, data.test, data), data.test)
    return round(100 * (1 - accuracy(counts, np.arange(len(counts)))), 4)
