"""Tables 2, 3 and 5 of the paper: classes of piles that nobody labelled, each method to a record."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from likewise.evaluation import accuracy, confusion, match_outputs, nmi
from likewise.paper.records import Record, machines, notes, read_records, run_missing, table
from likewise.paper.transfer_entries import (
    EARLY_STOPPED,
    TABLE2,
    TABLE3,
    TransferEntry,
    TransferRecipe,
    transfer_recipes,
)
from likewise.paper.transfer_methods import Learned, Task, find, learn_known, transfer_task
from likewise.storage.records import machine, read_json, write_json


@dataclass(frozen=True, kw_only=True)
class TransferRecord(Record):
    """ACC in %; means are over the piles. `cpu_seconds` are of the method, on all piles."""

    name: str
    recipe: str
    method: str
    classes: str  # "true" or "100"
    part: str  # evaluation, or validation: five of the background alphabets, whose similarity is learned on the others
    seed: int
    paper: dict[str, float]
    acc: float
    nmi: float
    difference: float  # of the number of classes found from the true one, the mean of its size
    quality: dict[str, float | None]  # of the similarity: precision and recall of "same" and of "different"
    piles: list[dict[str, Any]]
    similarity_cpu_seconds: float  # of the network that all methods of the recipe share


def run_transfer_entries(
    entries: Sequence[TransferEntry], *, data: Path | None, runs: Path, results: Path, backbone: Path | None = None
) -> Iterator[tuple[TransferRecord, Path, bool]]:
    """Run each entry that has no record yet, a pile after another; gives record, path and whether it ran."""
    tasks: dict[str, tuple[Task, Learned]] = {}  # all methods of a recipe share what was learned

    def run(entry: TransferEntry) -> TransferRecord:
        folder = runs / entry.recipe.table / entry.similarity_name
        if entry.similarity_name not in tasks:
            task = transfer_task(entry.recipe, entry.part, data)
            tasks[entry.similarity_name] = task, timed_learning(entry, task, folder, backbone)
        task, learned = tasks[entry.similarity_name]
        return run_transfer_entry(entry, learned, task, runs / entry.recipe.table / entry.name, folder)

    for entry in entries:
        yield from run_missing([entry], results, entry.recipe.table, TransferRecord, run)


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
    qualities = [row["quality"] for row in rows if row["quality"]]
    return TransferRecord(
        table=entry.recipe.table,
        name=entry.name,
        recipe=entry.recipe.name,
        method=entry.method,
        classes=entry.classes,
        part=entry.part,
        seed=entry.seed,
        settings=beyond_settings(entry),
        paper=dict(entry.recipe.expect.get(EARLY_STOPPED.get(entry.method, entry.method), {})),
        acc=round(mean(columns["acc"]), 3),
        nmi=round(mean(columns["nmi"]), 4),
        difference=round(mean(abs(row["n_classes"] - row["true_classes"]) for row in rows), 3),
        quality={key: mean_of_known(one[key] for one in qualities) for key in QUALITY} if qualities else {},
        piles=[{key: value for key, value in row.items() if key != "quality"} for row in rows],
        similarity_cpu_seconds=read_json(learned_in / "cost.json")["cpu_seconds"],
        cpu_seconds=round(sum(columns["cpu_seconds"]), 1),
        command=entry.command,
        **read_json(run / "machine.json"),
    )


def beyond_settings(entry: TransferEntry) -> dict[str, object]:
    """The settings of both stages; `best` takes what its recipe does not set from the estimators."""
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
    classes = find(entry, learned, task, name, run / name)
    spent = time.process_time() - began
    counts = confusion(classes.outputs, items.labels.numpy(), classes.n_outputs, items.n_classes)
    quality = {key: getattr(classes.quality, key) for key in QUALITY} if classes.quality else {}
    row: dict[str, Any] = {
        "pile": name,
        "items": len(items),
        "true_classes": items.n_classes,
        "n_classes": classes.n_classes,
        "acc": round(100 * accuracy(counts, match_outputs(counts)), 3),
        "nmi": round(nmi(counts), 4),
        "quality": {key: None if math.isnan(value) else round(value, 4) for key, value in quality.items()},
        "cpu_seconds": round(spent, 1),
    }
    write_json(path, row)
    print(
        f"  {name}: ACC {row['acc']:.1f} %, NMI {row['nmi']:.3f}, {classes.n_classes} of {items.n_classes} classes",
        flush=True,
    )
    return row


# The sections of RESULTS.md on piles that nobody labelled: Tables 2 and 5 of the paper, and Table 3.

ALPHABETS = """\
## Tables 2 and 5: the characters of Omniglot's alphabets, found without a label

A similarity is learned on the 964 characters of the background alphabets. The evaluation alphabets are then sorted into
classes, one alphabet at a time. ACC (in %, outputs matched to characters one to one, what is left over is wrong) and
NMI are the means over the alphabets, with as many outputs as characters (K = C), and where their number is not known
(K = 100 at most). "Count" is the mean difference between the number of classes found and the true one. With the recipe
`paper` every method gets the same similarity, 0 or 1 for each pair; `best` is what `likewise discover` does. Choices
were made on five of the background alphabets, with a similarity learned on the other 25; the notes say how often the
evaluation alphabets were looked at.
"""

IMAGES = """\
## Table 3: classes of images, found with a similarity and a network from other classes

A network learns to tell the known classes apart; similarity and classifiers start from it, and K-means, LSC and LPNMF
work on its features. The paper's rows are ImageNet's, 882 classes known and three random subsets of 30 of the others.
`cifar100` is a stand-in for it: VGG8, the first 80 classes known, three random subsets of 10 of the others. `cifar10`
is the same procedure with the first five classes of CIFAR-10 known and the other five to be found; `mnist-digits` has
the classes in common and not the drawings: similarity from MNIST, and the pile is of small digits.
"""

HEADER = (
    "recipe",
    "method",
    "classes",
    "ACC",
    "paper",
    "NMI",
    "paper's",
    "count",
    "its paper's",
    "core-minutes",
    "command",
)
NUMERIC = {"ACC", "paper", "NMI", "paper's", "count", "its paper's", "core-minutes"}


def table2_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(read_records(results, TABLE2, TransferRecord), key=_place)
    if not records:
        return f"{ALPHABETS}\nNo run is recorded yet: `likewise paper table2` makes the records.\n"
    aims = [line for recipe in transfer_recipes() for line in _aims(recipe, records)]
    return "\n".join(
        [
            ALPHABETS,
            table(HEADER, [_row(record) for record in records], NUMERIC),
            *(["".join(aims)] if aims else []),
            _similarities([record for record in records if record.quality]),
            *_each([record for record in records if record.part == "evaluation" and record.method in {"mcl", "kcl"}]),
            *_counts([record for record in records if record.part == "evaluation" and record.classes == "100"]),
            machines(records),
            *notes(results, TABLE2),
        ]
    )


def table3_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(read_records(results, TABLE3, TransferRecord), key=_place)
    if not records:
        return f"{IMAGES}\nNo run is recorded yet: `likewise paper table3` makes the records.\n"
    return "\n".join(
        [
            IMAGES,
            table(HEADER, [_row(record) for record in records], NUMERIC),
            _similarities([record for record in records if record.quality]),
            machines(records),
            *notes(results, TABLE3),
        ]
    )


def _place(record: TransferRecord) -> tuple[bool, str, int, str, str, int]:
    """Evaluation first; within a recipe as the paper has it, the method of Table 2 that does best last."""
    order = {"mcl": 2, "kcl": 1}
    known = record.classes != "true"
    return (
        record.part != "evaluation",
        record.recipe,
        order.get(record.method, 0),
        record.method,
        str(known),
        record.seed,
    )


def _row(record: TransferRecord) -> tuple[str, ...]:
    suffix = "" if record.classes == "true" else "_100"
    unknown = record.classes != "true"
    return (
        record.recipe + (", validation" if record.part == "validation" else ""),
        record.method,
        "K = C" if record.classes == "true" else "unknown",
        f"{record.acc:.1f}",
        _figure(record.paper, f"acc{suffix}", 1),
        f"{record.nmi:.3f}",
        _figure(record.paper, f"nmi{suffix}", 3),
        f"{record.difference:.2f}" if unknown else "",
        _figure(record.paper, "difference", 2) if unknown else "",
        f"{record.cpu_seconds / 60:.1f}",
        f"`{record.command}`",
    )


def _figure(figures: Mapping[str, float], name: str, digits: int) -> str:
    return f"{figures[name]:.{digits}f}" if name in figures else ""


def _aims(recipe: TransferRecipe, records: Sequence[TransferRecord]) -> list[str]:
    """Whether MCL with this recipe, its whole schedule and the first seed, is as good as it should be."""
    lines = []
    for name, aim in recipe.aim.items():
        classes = "true" if name == "acc" else "100"
        ours = [one for one in records if one.name == f"{recipe.name}-mcl-{classes}-seed0"]
        words = {"acc": "ACC with K = C", "acc_100": "ACC where K is unknown", "difference": "count"}[name]
        better = "below" if name == "difference" else "at least"
        if not ours:
            lines.append(f"- Aim of `{recipe.name}`: {words} {better} {aim:g}: not tried yet.\n")
            continue
        value = ours[0].difference if name == "difference" else ours[0].acc
        reached = value < aim if name == "difference" else value >= aim
        lines.append(
            f"- Aim of `{recipe.name}`: {words} {better} {aim:g}: {'reached' if reached else 'missed'}, {value:.2f}.\n"
        )
    return lines


def _similarities(records: Sequence[TransferRecord]) -> str:
    """What the similarity of each recipe cost, and how good it is."""
    lines: dict[tuple[str, str], str] = {}
    for record in records:
        known = {key.replace("_", " "): value for key, value in record.quality.items() if value is not None}
        quality = ", ".join(f"{key} {value:.3f}" for key, value in known.items())
        minutes = record.similarity_cpu_seconds / 60
        lines.setdefault(
            (record.recipe, record.part),
            f"- Similarity of `{record.recipe}` on what it had not seen ({record.part}): {quality}; learned in "
            f"{minutes:.1f} core-minutes.\n",
        )
    return "".join(lines.values())


def _column(record: TransferRecord) -> str:
    """The method and its recipe, with the seed and the epochs where these are not the usual ones."""
    further = record.name.removeprefix(f"{record.recipe}-{record.method}-{record.classes}-").split("-")
    unusual = [part.removesuffix("ep") + " epochs" if part.endswith("ep") else part for part in further]
    return f"{record.method} ({', '.join([record.recipe, *(part for part in unusual if part != 'seed0')])})"


def _each(records: Sequence[TransferRecord]) -> list[str]:
    """The ACC in each alphabet; that of the methods with fewer readers is in their records."""
    if not records:
        return []
    columns = [f"{_column(record)}, {'K = C' if record.classes == 'true' else 'unknown'}" for record in records]
    header = ("alphabet", "characters", *columns)
    rows = []
    for row in zip(*(record.piles for record in records), strict=True):
        rows.append((str(row[0]["pile"]), str(row[0]["true_classes"]), *(f"{one['acc']:.1f}" for one in row)))
    return ["### ACC in each alphabet\n", table(header, rows, set(header[1:]))]


def _counts(records: Sequence[TransferRecord]) -> list[str]:
    """Table 5: the number of characters that each method finds in each alphabet."""
    chosen = [record for record in records if "difference" in record.paper]
    if not chosen:
        return []
    header = ("alphabet", "characters", *(_column(record) for record in chosen))
    rows = []
    for row in zip(*(record.piles for record in chosen), strict=True):
        rows.append((str(row[0]["pile"]), str(row[0]["true_classes"]), *(str(one["n_classes"]) for one in row)))
    rows.append(("mean difference", "", *(f"{record.difference:.2f}" for record in chosen)))
    rows.append(("the paper's", "", *(_figure(record.paper, "difference", 2) for record in chosen)))
    return ["### The number of characters, not knowing it\n", table(header, rows, set(header[1:]))]
