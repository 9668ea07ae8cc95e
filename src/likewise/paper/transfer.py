"""Tables 2, 3 and 5 of the paper: classes of piles that nobody labelled, each method to a record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from likewise.evaluation import accuracy, confusion, match_outputs, nmi
from likewise.paper.records import read_record, record_path, write_record
from likewise.paper.transfer_entries import EARLY_STOPPED, TransferEntry
from likewise.paper.transfer_methods import Learned, Task, find, learn_known, transfer_task
from likewise.storage.machine import machine
from likewise.storage.records import read_json, write_json


@dataclass(frozen=True)
class TransferRecord:
    """ACC in %; means are over the piles. No date: a repeated run writes the same, apart from the times."""

    table: str
    name: str
    recipe: str
    method: str
    classes: str  # "true" or "100"
    part: str  # evaluation, or validation: five of the background alphabets, whose similarity is learned on the others
    seed: int
    settings: dict[str, object]
    paper: dict[str, float]
    acc: float
    nmi: float
    difference: float  # of the number of classes found from the true one, the mean of its size
    quality: dict[str, float | None]  # of the similarity: precision and recall of "same" and of "different"
    piles: list[dict[str, Any]]
    similarity_cpu_seconds: float  # of the network that all methods of the recipe share
    cpu_seconds: float  # of the method, on all piles
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int


def run_transfer_entries(
    entries: Sequence[TransferEntry], *, data: Path | None, runs: Path, results: Path, backbone: Path | None = None
) -> Iterator[tuple[TransferRecord, Path, bool]]:
    """Run each entry that has no record yet, a pile after another; gives record, path and whether it ran."""
    tasks: dict[str, tuple[Task, Learned]] = {}  # all methods of a recipe share what was learned
    for entry in entries:
        path = record_path(results, entry.recipe.table, entry.name)
        if path.exists():
            yield read_record(path, TransferRecord), path, False
            continue
        folder = runs / entry.recipe.table / entry.similarity_name
        if entry.similarity_name not in tasks:
            task = transfer_task(entry.recipe, entry.part, data)
            tasks[entry.similarity_name] = task, timed_learning(entry, task, folder, backbone)
        task, learned = tasks[entry.similarity_name]
        record = run_transfer_entry(entry, learned, task, runs / entry.recipe.table / entry.name, folder)
        yield record, write_record(results, record), True


def timed_learning(entry: TransferEntry, task: Task, folder: Path, backbone: Path | None) -> Learned:
    """Learn from what is known, or read what was learned; `folder` keeps what it cost at first."""
    began = time.process_time()
    learned = learn_known(entry, task, folder, backbone)
    if not (folder / "cost.json").exists():
        trained = read_json(folder / "metrics.json")["cpu_seconds"]  # with what was spent before it was stopped
        write_json(folder / "cost.json", {"cpu_seconds": round(max(trained, time.process_time() - began), 1)})
    return learned


def run_transfer_entry(
    entry: TransferEntry, learned: Learned, task: Task, run: Path, learned_in: Path
) -> TransferRecord:
    """Find the classes of each pile, or read what was found in the folder `run`, and put the figures together."""
    rows = [pile_row(entry, learned, task, name, run) for name in task.piles]
    if not (run / "machine.json").exists():
        write_json(run / "machine.json", machine())
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    judged = [row["quality"] for row in rows if row["quality"]]
    return TransferRecord(
        table=entry.recipe.table,
        name=entry.name,
        recipe=entry.recipe.name,
        method=entry.method,
        classes=entry.classes,
        part=entry.part,
        seed=entry.seed,
        settings=told(entry),
        paper=dict(entry.recipe.expect.get(EARLY_STOPPED.get(entry.method, entry.method), {})),
        acc=round(mean(columns["acc"]), 3),
        nmi=round(mean(columns["nmi"]), 4),
        difference=round(mean(abs(row["n_classes"] - row["true_classes"]) for row in rows), 3),
        quality={key: mean_of_known(one[key] for one in judged) for key in QUALITY} if judged else {},
        piles=[{key: value for key, value in row.items() if key != "quality"} for row in rows],
        similarity_cpu_seconds=read_json(learned_in / "cost.json")["cpu_seconds"],
        cpu_seconds=round(sum(columns["cpu_seconds"]), 1),
        command=entry.command,
        **read_json(run / "machine.json"),
    )


def told(entry: TransferEntry) -> dict[str, object]:
    """What is learned how; `best` takes what its recipe does not say from the estimators."""
    stages = {"similarity": asdict(entry.similarity), "training": asdict(entry.training)}
    if entry.recipe.name == "best":
        stages = {
            stage: {name: settings[name] for name in ("epochs", "precision", "seed")}
            for stage, settings in stages.items()
        }
    return {"network": entry.recipe.network, **stages, "augmentation": asdict(entry.recipe.augmentation)}


def mean_of_known(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(mean(known), 4) if known else None


QUALITY = ("same_precision", "same_recall", "different_precision", "different_recall")


def pile_row(entry: TransferEntry, learned: Learned, task: Task, name: str, run: Path) -> dict[str, Any]:
    """The figures of one pile, kept in the folder `run` as soon as they are there."""
    path = run / f"{name}.json"
    if path.exists():
        kept: dict[str, Any] = read_json(path)
        return kept
    items = task.piles[name]
    began = time.process_time()
    found = find(entry, learned, task, name, run / name)
    spent = time.process_time() - began
    counts = confusion(found.outputs, items.labels.numpy(), found.n_outputs, items.n_classes)
    quality = {key: getattr(found.quality, key) for key in QUALITY} if found.quality else {}
    row: dict[str, Any] = {
        "pile": name,
        "items": len(items),
        "true_classes": items.n_classes,
        "n_classes": found.n_classes,
        "acc": round(100 * accuracy(counts, match_outputs(counts)), 3),
        "nmi": round(nmi(counts), 4),
        "quality": {key: None if math.isnan(value) else round(value, 4) for key, value in quality.items()},
        "cpu_seconds": round(spent, 1),
    }
    write_json(path, row)
    print(
        f"  {name}: ACC {row['acc']:.1f} %, NMI {row['nmi']:.3f}, {found.n_classes} of {items.n_classes} classes",
        flush=True,
    )
    return row
