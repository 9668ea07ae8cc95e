"""Tables 2 and 5 of the paper: classes of alphabets that nobody labelled, each method to a record."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from likewise.datasets import Items, load_omniglot
from likewise.evaluation import accuracy, confusion, match_outputs, nmi
from likewise.machine import machine
from likewise.paper.records import read_record, record_path, write_record
from likewise.paper.table2_entries import TABLE2, VALIDATION, TransferEntry
from likewise.paper.table2_methods import Similarity, find, learn_similarity
from likewise.training.run_folder import read_json, write_json

Alphabets = dict[str, Items]


@dataclass(frozen=True)
class TransferRecord:
    """ACC in %; means are over the alphabets. No date: a repeated run writes the same, apart from the times."""

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
    quality: dict[str, float]  # of the similarity: precision and recall of "same" and of "different"
    alphabets: list[dict[str, Any]]
    similarity_cpu_seconds: float  # of the network that all methods of the recipe share
    cpu_seconds: float  # of the method, on all alphabets
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int


def run_transfer_entries(
    entries: Sequence[TransferEntry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[TransferRecord, Path, bool]]:
    """Run each entry that has no record yet, an alphabet after another; gives record, path and whether it ran."""
    waiting = [entry for entry in entries if not record_path(results, TABLE2, entry.name).exists()]
    background = load_omniglot("background", data) if waiting else {}
    evaluation = load_omniglot("evaluation", data) if any(one.part == "evaluation" for one in waiting) else {}
    learned: dict[str, Similarity] = {}
    for entry in entries:
        path = record_path(results, TABLE2, entry.name)
        if entry not in waiting:
            yield read_record(path, TransferRecord), path, False
            continue
        validating = entry.part == "validation"
        known = {name: items for name, items in background.items() if not (validating and name in VALIDATION)}
        piles = {name: background[name] for name in VALIDATION} if validating else evaluation
        folder = runs / TABLE2 / entry.similarity_name
        if entry.similarity_name not in learned:
            learned[entry.similarity_name] = timed_similarity(entry, known, folder)
        record = run_transfer_entry(entry, learned[entry.similarity_name], piles, runs / TABLE2 / entry.name, folder)
        yield record, write_record(results, record), True


def timed_similarity(entry: TransferEntry, known: Alphabets, folder: Path) -> Similarity:
    """Learn the similarity, or read it where it was learned; `folder` keeps what it cost at first."""
    began = time.process_time()
    similarity = learn_similarity(entry, *all_characters(known), folder)
    if not (folder / "cost.json").exists():
        write_json(folder / "cost.json", {"cpu_seconds": round(time.process_time() - began, 1)})
    return similarity


def all_characters(alphabets: Alphabets) -> tuple[Tensor, Tensor]:
    """The drawings of all alphabets, and each character a class of its own."""
    labels, first = [], 0
    for items in alphabets.values():
        labels.append(items.labels + first)
        first += items.n_classes
    return torch.cat([items.inputs for items in alphabets.values()]), torch.cat(labels)


def run_transfer_entry(
    entry: TransferEntry, similarity: Similarity, piles: Alphabets, run: Path, similarity_folder: Path
) -> TransferRecord:
    """Find the classes of each pile, or read what was found in the folder `run`, and put the figures together."""
    rows = [alphabet_row(entry, similarity, name, items, run) for name, items in piles.items()]
    if not (run / "machine.json").exists():
        write_json(run / "machine.json", machine())
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    quality = {key: round(mean(row["quality"][key] for row in rows), 4) for key in QUALITY}
    return TransferRecord(
        table=TABLE2,
        name=entry.name,
        recipe=entry.recipe.name,
        method=entry.method,
        classes=entry.classes,
        part=entry.part,
        seed=entry.seed,
        settings={
            "network": entry.recipe.network,
            "similarity": asdict(entry.similarity),
            "training": asdict(entry.training),
            "augmentation": asdict(entry.recipe.augmentation),
        },
        paper=dict(entry.recipe.expect.get(entry.method, {})),
        acc=round(mean(columns["acc"]), 3),
        nmi=round(mean(columns["nmi"]), 4),
        difference=round(mean(abs(row["n_classes"] - row["true_classes"]) for row in rows), 3),
        quality=quality,
        alphabets=[{key: value for key, value in row.items() if key != "quality"} for row in rows],
        similarity_cpu_seconds=read_json(similarity_folder / "cost.json")["cpu_seconds"],
        cpu_seconds=round(sum(columns["cpu_seconds"]), 1),
        command=entry.command,
        **read_json(run / "machine.json"),
    )


QUALITY = ("same_precision", "same_recall", "different_precision", "different_recall")


def alphabet_row(entry: TransferEntry, similarity: Similarity, name: str, items: Items, run: Path) -> dict[str, Any]:
    """The figures of one alphabet, kept in the folder `run` as soon as they are there."""
    path = run / f"{name}.json"
    if path.exists():
        kept: dict[str, Any] = read_json(path)
        return kept
    labels = items.labels.numpy()
    began = time.process_time()
    found = find(entry, similarity, items.inputs, labels, run / name)
    spent = time.process_time() - began
    counts = confusion(found.outputs, labels, found.n_outputs, items.n_classes)
    row: dict[str, Any] = {
        "alphabet": name,
        "items": len(items),
        "true_classes": items.n_classes,
        "n_classes": found.n_classes,
        "acc": round(100 * accuracy(counts, match_outputs(counts)), 3),
        "nmi": round(nmi(counts), 4),
        "quality": {key: round(getattr(found.quality, key), 4) for key in QUALITY},
        "cpu_seconds": round(spent, 1),
    }
    write_json(path, row)
    print(
        f"  {name}: ACC {row['acc']:.1f} %, NMI {row['nmi']:.3f}, {found.n_classes} of {items.n_classes} classes",
        flush=True,
    )
    return row
