"""Table 4 of the paper: learn a data set from a few of its labels, each method on each split to a record."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch import Tensor, nn

from likewise.datasets import DataSet, Items, load
from likewise.errors import InputError
from likewise.evaluation import accuracy
from likewise.networks import build
from likewise.paper.records import Record, machines, notes, read_records, record_path, run_missing, table
from likewise.paper.table4_entries import TABLE4, Aim, SemiEntry, SemiRecipe, entry_name, semi_recipes
from likewise.storage.records import machine, read_json, write_json
from likewise.supervision.semi import METHODS, natural_weights
from likewise.training import FewLabelsLearned, NetworkInputs, learn_few_labels
from likewise.training.labelled import count_outputs, logits_of


@dataclass(frozen=True, kw_only=True)
class SemiRecord(Record):
    """Errors are in %, of the test set; `settings` are those of the last stage, `cpu_seconds` of all stages."""

    dataset: str
    network: str
    labels: int
    method: str
    split: int  # also the seed of the weights, the order and the augmentation
    epochs: int  # of the second stage
    recipe_epochs: int  # more than epochs where the schedule was compressed
    supervised_epochs: int
    paper_error: float | None
    error: float
    supervised_error: float  # after the first stage
    fewest: int  # labels of the class that has fewest
    seconds: float  # of all stages that led here, the supervised one too
    supervised_cpu_seconds: float

    @property
    def name(self) -> str:
        return entry_name(self.dataset, self.network, self.labels, self.method, self.split, self.epochs)


def run_semi_entries(
    entries: Sequence[SemiEntry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[SemiRecord, Path, bool]]:
    """Run each entry that has no record yet, resuming what was begun; gives record, path and whether it ran."""
    waiting = [entry for entry in entries if not record_path(results, TABLE4, entry.name).exists()]
    sets = {name: load(name, data) for name in {entry.recipe.dataset for entry in waiting}}

    def run(entry: SemiEntry) -> SemiRecord:
        return run_semi_entry(entry, sets[entry.recipe.dataset], runs / TABLE4 / entry.folder)

    return run_missing(entries, results, TABLE4, SemiRecord, run)


def run_semi_entry(entry: SemiEntry, data: DataSet, run: Path) -> SemiRecord:
    """Learn one method on one split in the folder `run`, or resume there, and measure it."""
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
        recipe_epochs=recipe.training.epochs,
        supervised_epochs=entry.supervised.epochs,
        settings={**asdict(learned.settings), **beyond_settings(entry), **weights._asdict()},
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
        NetworkInputs(data.train.inputs, data.mean, data.std, recipe.augmentation),
        labels,
        METHODS[entry.method],
        entry.supervised,
        entry.settings,
        epsilon=recipe.epsilon,
        run=run,
        config={"dataset": recipe.dataset, "network": recipe.network, **beyond_settings(entry)},
        evaluate=evaluate,
    )


def beyond_settings(entry: SemiEntry) -> dict[str, object]:
    """What every stage depends on besides its Settings."""
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


# The section of RESULTS.md on a few labels: for each data set and network a table of the methods, and the aims.

FEW_LABELS = """\
## Table 4: a few labels and much without, error in % on the test set

All training items are given, and the labels of some at random (drawn again where a class has none). Every method begins
with the supervised network, which saw the labelled items alone, and goes on with all of them by `alpha L_sup + beta
L_reg`, with the weights of appendix C and nothing to tune; only `L_reg` differs. Pseudo-MCL+ is ours. A row has the
mean over its splits ± standard deviation, the mean gain over the supervised network in points, the mean core-minutes
with and without the supervised stage, which all methods of a split share, and the command of its first split.
"""

HEADER = ("method", "paper", "ours", "gain", "schedule", "splits", "core-minutes", "of which its own", "command")
NUMERIC = {"paper", "ours", "gain", "core-minutes", "of which its own"}


def table4_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, TABLE4, SemiRecord)
    if not records:
        return f"{FEW_LABELS}\nNo run is recorded yet: `likewise paper table4` makes the records.\n"
    parts = [FEW_LABELS]
    for recipe in semi_recipes():
        its_own = [record for record in records if _is_of(record, recipe)]
        for epochs in sorted({record.epochs for record in its_own}, reverse=True):
            parts.append(_part(recipe, [record for record in its_own if record.epochs == epochs]))
    return "\n".join([*parts, machines(records), *notes(results, TABLE4)])


def _is_of(record: SemiRecord, recipe: SemiRecipe) -> bool:
    return (record.dataset, record.network, record.labels) == (recipe.dataset, recipe.network, recipe.labels)


def _part(recipe: SemiRecipe, records: Sequence[SemiRecord]) -> str:
    """A table, the supervised network first and the methods in the paper's order."""
    order = list(METHODS)
    ordered = sorted(records, key=lambda record: (order.index(record.method), record.split))
    groups = {method: list(group) for method, group in groupby(ordered, key=lambda record: record.method)}
    first = records[0]
    compressed = f", {first.epochs} of {first.recipe_epochs} epochs" if first.epochs < first.recipe_epochs else ""
    title = f"### {recipe.dataset}, {recipe.network}, {recipe.labels:,} labels{compressed}\n"
    rows = [_row(group) for group in groups.values()]
    aims = "" if compressed else "".join(_aim(aim, groups) for aim in recipe.aims)
    return "\n".join([title, table(HEADER, rows, NUMERIC), *([aims] if aims else [])])


def _row(records: Sequence[SemiRecord]) -> tuple[str, ...]:
    first = records[0]
    alone = first.method == "supervised"
    schedule = f"{first.supervised_epochs} epochs" if alone else f"{first.supervised_epochs} + {first.epochs} epochs"
    own = mean(record.cpu_seconds - (0 if alone else record.supervised_cpu_seconds) for record in records) / 60
    return (
        first.method,
        "" if first.paper_error is None else f"{first.paper_error:.1f}",
        _summary([record.error for record in records]),
        "" if alone else f"{mean(record.supervised_error - record.error for record in records):+.2f}",
        schedule,
        ", ".join(str(record.split) for record in records),
        f"{mean(record.cpu_seconds for record in records) / 60:.1f}",
        f"{own:.1f}",
        f"`{first.command}`",
    )


def _summary(figures: Sequence[float]) -> str:
    return f"{mean(figures):.2f}" + (f" ± {stdev(figures):.2f}" if len(figures) > 1 else "")


def _aim(aim: Aim, groups: Mapping[str, Sequence[SemiRecord]]) -> str:
    """Whether it is reached, on the splits that both have."""
    if aim.points > 0:
        words = f"{aim.method} at least {aim.points:g} points below {aim.rival}"
    elif aim.points < 0:
        words = f"{aim.method} below {aim.rival}, or at most {-aim.points:g} points above"
    else:
        words = f"{aim.method} below {aim.rival}"
    ours, theirs = ({record.split: record.error for record in groups.get(name, ())} for name in (aim.method, aim.rival))
    both = sorted(ours.keys() & theirs.keys())
    if not both:
        return f"- Aim: {words}: not tried yet.\n"
    gain = mean(theirs[split] - ours[split] for split in both)
    reached = gain > 0 if aim.points == 0 else gain >= aim.points
    where = f"{abs(gain):.2f} points {'below' if gain >= 0 else 'above'}"
    return f"- Aim: {words}: {'reached' if reached else 'missed'}, {where}.\n"
