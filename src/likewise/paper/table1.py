"""Table 1 of the paper: run its entries, each to a run folder and a record, and show the records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from torch import Tensor, nn

from likewise.criteria import KCL, MCL
from likewise.datasets import DataSet, Items, load
from likewise.errors import InputError
from likewise.evaluation import accuracy, scores
from likewise.networks import build
from likewise.paper.records import Record, machines, notes, read_records, table, write_record
from likewise.paper.table1_entries import NO_TREATMENT, Entry, recipes, run_name
from likewise.storage.records import machine, read_json, write_json
from likewise.training import TrainingResult, measure, train_labelled

Train = Callable[[Entry, nn.Module, Items, DataSet, nn.Module, Path], TrainingResult]


@dataclass(frozen=True, kw_only=True)
class Table1Record(Record):
    """Errors are in %."""

    dataset: str
    network: str
    criterion: str
    treatment: str  # "none" where there is none
    seed: int
    epochs: int
    paper_epochs: int  # more than epochs where the schedule was compressed
    drops: list[int]
    paper_error: float
    error: float  # on the test set, outputs matched to classes on the training set
    train_error: float
    scores: dict[str, float]  # on the test set: nmi, ari, pair scores
    seconds: float  # of training

    @property
    def name(self) -> str:
        return run_name(self.dataset, self.network, self.criterion, self.treatment, self.seed, self.epochs)


def run_entries(
    entries: Sequence[Entry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[Table1Record, Path]]:
    """Run each entry, resuming what was begun, and give its record as soon as it is written."""
    names = dict.fromkeys(entry.recipe.dataset for entry in entries)
    sets = {name: load(name, data) for name in names}  # all at first: a missing one should not end hours of work
    for entry in entries:
        record = run_entry(entry, sets[entry.recipe.dataset], runs / entry.recipe.table / entry.name)
        yield record, write_record(results, record)


def run_entry(entry: Entry, data: DataSet, run: Path, train: Train | None = None) -> Table1Record:
    """Train one entry of the table in the folder `run`, or resume there, and measure it.

    Another `train` may take the place of `train_entry`: it has the same arguments and trains the network in place.
    """
    train = train or train_entry
    criterion = criterion_of(entry)
    shape = tuple(data.train.inputs.shape[1:])
    network = build(entry.recipe.network, data.train.n_classes, shape, seed=entry.seed)
    folders = [run]
    if entry.pretrain_labels:
        folders.insert(0, run / "pretrain")
        few = stratified(data.train, entry.pretrain_labels, entry.seed)
        train(entry, network, few, data, nn.CrossEntropyLoss(), folders[0])
    result = train(entry, network, data.train, data, criterion, run)

    measured = measure(network, data, criterion)
    test_scores = scores(measured.test_counts, measured.matching)
    # From the folders and not the result, so that a run that was finished long ago has the same record again.
    times = [read_json(folder / "metrics.json") for folder in folders]
    if not (run / "machine.json").exists():
        write_json(run / "machine.json", machine())
    made_with = read_json(run / "machine.json")
    return Table1Record(
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
        error=percent_wrong(measured.test_counts, measured.matching),
        train_error=percent_wrong(measured.train_counts, measured.matching),
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
        return KCL(**asdict(entry.recipe.kcl))
    return MCL(**asdict(entry.recipe.mcl))


def beyond_settings(entry: Entry) -> dict[str, object]:
    """What a run depends on besides its names and its Settings."""
    config: dict[str, object] = {"augmentation": asdict(entry.recipe.augmentation)}
    if entry.criterion == "kcl":
        config["kcl"] = asdict(entry.recipe.kcl)
    if entry.criterion == "mcl":
        config["mcl"] = asdict(entry.recipe.mcl)
    if entry.pretrain_labels:
        config["pretrain_labels"] = entry.pretrain_labels
    return config


def train_entry(
    entry: Entry, network: nn.Module, items: Items, data: DataSet, criterion: nn.Module, run: Path
) -> TrainingResult:
    return train_labelled(
        network,
        items,
        data,
        criterion,
        entry.settings,
        augment=entry.recipe.augmentation,
        run=run,
        config=config_of(entry, criterion),
    )


def config_of(entry: Entry, criterion: nn.Module) -> dict[str, object]:
    """What makes a run what it is, besides its Settings."""
    return {
        "table": entry.recipe.table,
        "dataset": entry.recipe.dataset,
        "network": entry.recipe.network,
        "criterion": "ce" if isinstance(criterion, nn.CrossEntropyLoss) else entry.criterion,  # ce in pre-training
        "treatment": entry.treatment,
        **beyond_settings(entry),
    }


def percent_wrong(counts: np.ndarray, matching: np.ndarray) -> float:
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


# The section of RESULTS.md.

TABLE1 = """\
## Table 1: supervised learning, error in % on the test set

CE sees class labels; KCL and MCL see only which pairs of a batch are of the same class. Their outputs are matched to
classes on the training set by the Hungarian algorithm, and that matching is applied to the test set. The paper gives
the average of 3 runs. A schedule of "8 of 140 epochs" is the paper's, compressed in proportion.
"""

HEADER = (
    "data set",
    "network",
    "criterion",
    "paper",
    "ours",
    "difference",
    "schedule",
    "seed",
    "core-minutes",
    "command",
)
NUMERIC = {"paper", "ours", "difference", "core-minutes"}


def table1_section(results: Path) -> str:
    places = {(recipe.dataset, recipe.network): recipe.row for recipe in recipes("table1")}
    records = sorted(read_records(results, "table1", Table1Record), key=lambda record: _place(record, places))
    if not records:
        return f"{TABLE1}\nNo run is recorded yet: `likewise paper table1` makes the records.\n"
    rows = [row for _, group in groupby(records, key=_entry) for row in _entry_rows(list(group))]
    return "\n".join([TABLE1, table(HEADER, rows, NUMERIC), machines(records), *notes(results, "table1")])


def _entry(record: Table1Record) -> tuple[str, str, str, str, int]:
    """Records that agree in this differ in the seed alone."""
    return record.dataset, record.network, record.criterion, record.treatment, record.epochs


def _place(record: Table1Record, places: Mapping[tuple[str, str], int]) -> tuple[int, str, str, int, int]:
    """The order of the paper's table (ce, kcl, mcl: the alphabet's too); of one entry the longest schedule first."""
    row = places.get((record.dataset, record.network), len(places) + 1)
    treatment = "" if record.treatment == NO_TREATMENT else record.treatment
    return row, record.criterion, treatment, -record.epochs, record.seed


def _entry_rows(records: Sequence[Table1Record]) -> list[tuple[str, ...]]:
    """A row for each seed, and where there are several one with their mean and standard deviation."""
    rows = [_row(record, f"{record.error:.2f}", record.error, str(record.seed)) for record in records]
    if len(records) > 1:
        errors = [record.error for record in records]
        average = mean(errors)
        seeds = ", ".join(str(record.seed) for record in records)
        summary = _row(records[0], f"{average:.2f} ± {stdev(errors):.2f}", average, f"mean of {seeds}")
        rows.append((*summary[:-2], "", ""))
    return rows


def _row(record: Table1Record, ours: str, error: float, seed: str) -> tuple[str, ...]:
    treatment = "" if record.treatment == NO_TREATMENT else f" ({record.treatment})"
    full_schedule = record.epochs == record.paper_epochs
    return (
        record.dataset,
        record.network,
        record.criterion.upper() + treatment,
        f"{record.paper_error:.1f}",
        ours,
        f"{error - record.paper_error:+.2f}",
        f"{record.epochs} epochs" if full_schedule else f"{record.epochs} of {record.paper_epochs} epochs",
        seed,
        f"{record.cpu_seconds / 60:.1f}",
        f"`{record.command}`",
    )
