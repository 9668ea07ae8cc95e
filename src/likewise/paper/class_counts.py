"""How often the interval of the estimated number of classes covers the truth: over piles of classes drawn at random.

Of a set of features some classes are known, others are the pile, the rest is not there. Each draw has other classes and
other numbers of them. In a mixed pile half of the items of each known class are labelled, and the rest is in the pile.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from likewise.datasets import to_unit_length
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError
from likewise.estimators import SimilarityNetwork
from likewise.estimators.grouped_pile import count_classes
from likewise.paper.records import Record, machines, notes, read_records, run_missing, table
from likewise.storage.records import machine

TABLE = "counts"
ITEMS = 60  # of each class, at most: piles are as small as people's are
LEAST_NEW = 3  # classes of a pile
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Kind = Literal["new", "mixed"]

FEATURES = {"photos": "photos-lite0.npz", "banking77": "banking77-minilm.npz", "cifar100": "cifar100-lite0.npz"}
MOST_CLASSES = {"cifar100": 80}  # the others are what `likewise paper discovery` evaluates


@dataclass(frozen=True)
class CountEntry:
    dataset: str
    kind: Kind
    piles: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.dataset}-{self.kind}-{self.piles}piles-seed{self.seed}"


@dataclass(frozen=True, kw_only=True)
class CountRecord(Record):
    """`covered` is in %, `error` the mean difference from the truth; `piles` has each of them."""

    dataset: str
    kind: str
    seed: int
    covered: float
    error: float
    width: float  # the mean of high / low
    piles: list[dict[str, Any]]

    @property
    def name(self) -> str:
        return CountEntry(self.dataset, self.kind, len(self.piles), self.seed).name  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class CountProblem:
    known: Floats
    known_y: Ints
    pile: Floats
    n_known: int
    n_new: int


def select_counts(dataset: str | None, kind: str | None, piles: int, seed: int) -> list[CountEntry]:
    kinds: tuple[Kind, ...] = ("new", "mixed")
    return [
        CountEntry(name, one, piles, seed)
        for name in FEATURES
        for one in kinds
        if dataset in (None, name) and kind in (None, one)
    ]


def run_counts(
    entries: Sequence[CountEntry], *, data: Path | None, results: Path
) -> Iterator[tuple[CountRecord, Path, bool]]:
    """Run each entry that has no record yet; gives record, path and whether it ran."""

    def run(entry: CountEntry) -> CountRecord:
        return run_count(entry, *read_features(entry.dataset, data))

    return run_missing(entries, results, TABLE, CountRecord, run)


def read_features(dataset: str, data: Path | None) -> tuple[Floats, Ints]:
    """Items of unit length (n, d) and their classes (n,), of the training part where the file says which that is."""
    path = find(dataset, (FEATURES[dataset],), data)
    if path is None:
        raise InputError(f"{FEATURES[dataset]} is not in {data_folder(data)}; put it there or set LIKEWISE_DATA.")
    with np.load(path) as file:
        y = np.unique(file["y"], return_inverse=True)[1]
        kept = y < MOST_CLASSES.get(dataset, len(y))
        if "split" in file:
            kept &= file["split"].astype(str) == "train"
        x = file["X"][kept].astype(np.float32)
    return to_unit_length(torch.from_numpy(x)).numpy(), y[kept]


def draw_problem(x: Floats, y: Ints, kind: Kind, random: np.random.Generator) -> CountProblem:
    """Known classes, a third to two thirds of all, and at least three new ones of the others.

    >>> y = np.repeat(np.arange(12), 10)
    >>> problem = draw_problem(np.eye(12, dtype=np.float32)[y], y, "new", np.random.default_rng(0))
    >>> 4 <= problem.n_known <= 8, len(problem.pile) == 10 * problem.n_new
    (True, True)
    """
    order = random.permutation(np.unique(y))
    n_known = int(random.integers(len(order) // 3, 2 * len(order) // 3, endpoint=True))
    n_new = int(random.integers(LEAST_NEW, len(order) - n_known, endpoint=True))
    labelled: list[Ints] = []
    pile: list[Ints] = []
    for place, name in enumerate(order[: n_known + n_new]):
        rows = random.permutation(np.flatnonzero(y == name))[:ITEMS]
        n_labelled = 0 if place >= n_known else len(rows) if kind == "new" else len(rows) // 2
        labelled.append(rows[:n_labelled])
        pile.append(rows[n_labelled:])
    known, rest = np.concatenate(labelled), np.concatenate(pile)
    return CountProblem(x[known], y[known], x[rest], n_known, n_new)


def run_count(entry: CountEntry, x: Floats, y: Ints) -> CountRecord:
    piles, cpu = [], time.process_time()
    for number in range(entry.piles):
        problem = draw_problem(x, y, entry.kind, np.random.default_rng([entry.seed, number]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            similarity = SimilarityNetwork(random_state=entry.seed).fit(problem.known, problem.known_y)
        mixed = entry.kind == "mixed"
        estimated = count_classes(torch.from_numpy(problem.pile), similarity, mixed=mixed, seed=entry.seed)
        truth = problem.n_new + (problem.n_known if mixed else 0)
        row = {"known": problem.n_known, "classes": truth, "estimate": estimated.estimate}
        piles.append(row | {"low": estimated.low, "high": estimated.high})
    covered = [row["low"] <= row["classes"] <= row["high"] for row in piles]
    return CountRecord(
        table=TABLE,
        settings={"items of each class": ITEMS, "features": FEATURES[entry.dataset]},
        dataset=entry.dataset,
        kind=entry.kind,
        seed=entry.seed,
        covered=round(100 * float(np.mean(covered)), 1),
        error=round(float(np.mean([abs(row["estimate"] - row["classes"]) for row in piles])), 2),
        width=round(float(np.mean([row["high"] / row["low"] for row in piles])), 2),
        piles=piles,
        cpu_seconds=round(time.process_time() - cpu, 1),
        command=f"likewise paper counts --dataset {entry.dataset} --kind {entry.kind} --piles {entry.piles} "
        f"--seed {entry.seed}",
        **machine(),  # type: ignore[arg-type]
    )


COUNTS = """\
## The number of classes: how often its interval covers the truth

Piles of classes drawn at random from a set of frozen features, beside other classes of the set that are known, a third
to two thirds of all. `new`: the pile has new classes alone. `mixed`: half of the items of the known classes are in it
as well, and all classes are counted. The interval is meant to cover the truth in 80 % of the piles at least.
ImageNet's labels, with which EfficientNet-lite0 was trained, cover many of the classes of photos and CIFAR-100.
"""

HEADER = ("features", "pile", "piles", "covered", "mean error", "high / low", "core-minutes", "command")


def counts_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, TABLE, CountRecord)
    if not records:
        return f"{COUNTS}\nNothing is recorded yet: `likewise paper counts` makes the records.\n"
    rows = [
        (
            record.dataset,
            record.kind,
            str(len(record.piles)),
            f"{record.covered:.0f} %",
            f"{record.error:.1f}",
            f"{record.width:.1f}",
            f"{record.cpu_seconds / 60:.1f}",
            f"`{record.command}`",
        )
        for record in records
    ]
    return "\n".join([COUNTS, table(HEADER, rows, set(HEADER[2:-1])), machines(records), *notes(results, TABLE)])
