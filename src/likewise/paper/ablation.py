"""The ablation: Table 1's runs with one option each, recorded in the same form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torch import nn

from likewise.datasets import DataSet, Items, load
from likewise.paper.ablation_entries import PLAIN, TABLE, AblationEntry
from likewise.paper.ablation_options import OPTIONS, rescale
from likewise.paper.entries import Entry
from likewise.paper.records import Record, read_record, record_path, write_record
from likewise.paper.table1 import config_of, run_entry
from likewise.supervision import LabelKnowledge, RecentOutputs, joint_objective, label_objective
from likewise.training import TrainingResult, train_labelled
from likewise.training.orders import ClassOrder
from likewise.training.precision import Objective


def run_ablation(
    entries: Sequence[AblationEntry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[Record, Path, bool]]:
    """Run each entry that has no record, resuming what was begun; gives the record, its file, and whether it ran."""
    sets: dict[str, DataSet] = {}
    for entry in entries:
        path = record_path(results, TABLE, entry.name)
        if path.exists():
            yield read_record(path, Record), path, False
            continue
        name = entry.recipe.dataset
        sets[name] = sets.get(name) or load(name, data)
        record = run_ablation_entry(entry, sets[name], runs / TABLE / entry.name)
        yield record, write_record(results, record), True


def run_ablation_entry(entry: AblationEntry, data: DataSet, run: Path) -> Record:
    if entry.option in PLAIN:
        return run_entry(entry, data, run)
    record = run_entry(entry, data, run, train_option)
    return replace(record, settings={**record.settings, **_told(entry)})


def train_option(
    entry: Entry, network: nn.Module, items: Items, data: DataSet, criterion: nn.Module, run: Path
) -> TrainingResult:
    """As `train_entry`, with the option that the entry has for a treatment."""
    option, settings = OPTIONS[entry.treatment], entry.settings
    rescale(network, option.scale)
    order = None
    if option.half_the_classes:
        classes = max(2, items.n_classes // 2)
        order = ClassOrder(items.labels, classes=classes, items=max(2, settings.batch_size // classes), seed=entry.seed)
    objective: Objective = label_objective(option.loss or criterion)
    if option.joint:
        objective = joint_objective(LabelKnowledge(items.labels.numpy()))
    return train_labelled(
        RecentOutputs(network, items.n_classes, option.remembered * items.n_classes) if option.remembered else network,
        items,
        data,
        criterion,
        settings,
        augment=entry.recipe.augmentation,
        run=run,
        config={**config_of(entry, criterion), **_told(entry)},
        objective=objective,
        order=order,
    )


def _told(entry: Entry) -> dict[str, object]:
    return {"option": OPTIONS[entry.treatment].told}
