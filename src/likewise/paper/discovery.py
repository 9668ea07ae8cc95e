"""Known and new classes in frozen features: each protocol with its rivals on the same features, to one record.

    new      the first classes are known, all their items labelled; the pile holds the others
    mixed    half of the items of the first classes are labelled; the pile holds the other half and all other classes
    unseen   as mixed, but some classes are in neither; later items are of seen classes or of these

Rivals: k-means on the pile; for mixed piles also semi-supervised k-means (labelled items keep their cluster: Vaze et
al., 2022) and logistic regression on the labelled items, which knows no new class.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from likewise.datasets import to_unit_length
from likewise.datasets.source_files import data_folder, find
from likewise.errors import InputError
from likewise.estimators import CategoryDiscoverer
from likewise.evaluation import auroc, known_and_new
from likewise.paper.records import Record, machines, notes, read_records, run_missing, table
from likewise.storage.records import machine

TABLE = "discovery"
ROUNDS = 50  # of semi-supervised k-means
Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Kind = Literal["new", "mixed", "unseen"]


@dataclass(frozen=True)
class Protocol:
    dataset: str
    features: str  # the file
    n_known: int
    kind: Kind
    n_unseen: int = 0


PROTOCOLS = {
    "photos": Protocol("photos", "photos-lite0.npz", 15, "new"),
    "photos-mixed": Protocol("photos", "photos-lite0.npz", 15, "mixed"),
    "photos-unseen": Protocol("photos", "photos-lite0.npz", 15, "unseen", 7),
    "cifar10": Protocol("cifar10", "cifar10-lite0.npz", 5, "new"),
    "cifar10-mixed": Protocol("cifar10", "cifar10-lite0.npz", 5, "mixed"),
    "cifar100": Protocol("cifar100", "cifar100-lite0.npz", 80, "new"),
    "cifar100-mixed": Protocol("cifar100", "cifar100-lite0.npz", 80, "mixed"),
}


@dataclass(frozen=True)
class DiscoveryEntry:
    protocol: str
    classes: Literal["true", "estimated"]
    seed: int

    @property
    def name(self) -> str:
        return f"{self.protocol}-{self.classes}-seed{self.seed}"


@dataclass(frozen=True, kw_only=True)
class DiscoveryRecord(Record):
    """Accuracies are in %, outputs matched with classes once over all items of the pile."""

    protocol: str
    classes: str  # "true" where their number was given
    seed: int
    n_labelled: int
    n_pile: int
    n_classes: int  # of the pile; in a mixed one known and new
    estimate: int
    interval: list[int]
    accuracy: float
    old: float | None  # of the items of known classes; None where the pile has none
    new: float | None
    by_name: float | None  # of the items of known classes: those that have the right name
    known_share: float | None  # of the pile, as estimated before anything else
    p_new_auroc: float | None  # does P(new) tell new items of the pile from known ones?
    unseen_auroc: float | None  # does P(new) of later items tell those of unseen classes?
    metric: str
    rivals: dict[str, dict[str, float]] = field(default_factory=dict)  # name -> all, old, new

    @property
    def name(self) -> str:
        return DiscoveryEntry(self.protocol, self.classes, self.seed).name  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False)
class Problem:
    known: Floats
    known_y: Ints
    pile: Floats
    pile_y: Ints
    later: Floats
    later_unseen: NDArray[np.bool_]
    n_known: int


def select_discovery(protocol: str | None, classes: str | None, seed: int) -> list[DiscoveryEntry]:
    """All entries that fit; with unseen classes the number is always estimated."""
    numbers: tuple[Literal["true", "estimated"], ...] = ("true", "estimated")
    return [
        DiscoveryEntry(name, number, seed)
        for name, one in PROTOCOLS.items()
        for number in numbers
        if protocol in (None, name) and classes in (None, number) and (one.kind != "unseen" or number == "estimated")
    ]


def run_discovery(
    entries: Sequence[DiscoveryEntry], *, data: Path | None, results: Path
) -> Iterator[tuple[DiscoveryRecord, Path, bool]]:
    """Run each entry that has no record yet; gives record, path and whether it ran."""

    def run(entry: DiscoveryEntry) -> DiscoveryRecord:
        return run_entry(entry, make_problem(PROTOCOLS[entry.protocol], data, entry.seed))

    return run_missing(entries, results, TABLE, DiscoveryRecord, run)


def make_problem(protocol: Protocol, data: Path | None, seed: int) -> Problem:
    """Training items alone, where the file says which these are; halves are every second item, or drawn by the seed."""
    path = find(protocol.dataset, (protocol.features,), data)
    if path is None:
        raise InputError(f"{protocol.features} is not in {data_folder(data)}; put it there or set LIKEWISE_DATA.")
    with np.load(path) as file:
        x, y = file["X"].astype(np.float32), np.unique(file["y"], return_inverse=True)[1]
        if "split" in file:
            train = np.isin(file["split"].astype(str), ["train", "0"])
            x, y = x[train], y[train]
    x = to_unit_length(torch.from_numpy(x)).numpy()
    old = y < protocol.n_known
    labelled, later = old, np.zeros(len(y), dtype=np.bool_)
    unseen = y > int(y.max()) - protocol.n_unseen
    if protocol.kind != "new":
        labelled = old & _drawn(y, 0.5, seed)
    if protocol.kind == "unseen":
        later = unseen | (~labelled & _drawn(y, 0.25, seed + 1000))
    pile = ~labelled & ~later
    return Problem(x[labelled], y[labelled], x[pile], y[pile], x[later], unseen[later], protocol.n_known)


def _drawn(y: Ints, share: float, seed: int) -> NDArray[np.bool_]:
    """A share of the items of each class."""
    random = np.random.default_rng(seed)
    chosen = np.zeros(len(y), dtype=np.bool_)
    for name in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == name))
        chosen[rows[: round(share * len(rows))]] = True
    return chosen


def run_entry(entry: DiscoveryEntry, problem: Problem) -> DiscoveryRecord:
    mixed = PROTOCOLS[entry.protocol].kind != "new"
    truth, old = problem.pile_y, problem.pile_y < problem.n_known
    n_classes = len(np.unique(truth)) if not mixed else len(np.unique(np.concatenate([problem.known_y, truth])))
    n_given = n_classes if entry.classes == "true" else None
    started, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is doubtful is in the record
        discoverer = CategoryDiscoverer(n_given, mixed=mixed, random_state=entry.seed, max_classes=200).fit(
            problem.pile, known=(problem.known, problem.known_y)
        )
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    scores = known_and_new(discoverer.labels_, truth, old)
    unseen = auroc(discoverer.predict_new(problem.later), problem.later_unseen) if len(problem.later) else None
    assert discoverer.similarity_ is not None
    assert discoverer.similarity_.metric_ is not None
    return DiscoveryRecord(
        table=TABLE,
        settings={"seconds": round(seconds, 1), "encoder": "efficientnet-lite0, 160 px, unit length"},
        protocol=entry.protocol,
        classes=entry.classes,
        seed=entry.seed,
        n_labelled=len(problem.known),
        n_pile=len(truth),
        n_classes=n_classes,
        estimate=discoverer.number_.estimate,
        interval=[discoverer.number_.low, discoverer.number_.high],
        accuracy=_percent(scores.all),
        old=_percent(scores.old) if old.any() else None,
        new=_percent(scores.new) if (~old).any() else None,
        by_name=_percent(float((discoverer.labels_[old] == truth[old]).mean())) if mixed else None,
        known_share=discoverer.known_share_,
        p_new_auroc=round(auroc(discoverer.p_new_, ~old), 4) if mixed else None,
        unseen_auroc=None if unseen is None else round(unseen, 4),
        metric=discoverer.similarity_.metric_.in_words(),
        rivals=_rivals(problem, n_classes, mixed, entry.seed) if entry.classes == "true" else {},
        cpu_seconds=round(cpu, 1),
        command=f"likewise paper discovery --protocol {entry.protocol} --classes {entry.classes} --seed {entry.seed}",
        **machine(),  # type: ignore[arg-type]
    )


def _percent(share: float) -> float:
    return round(100 * share, 2)


def _rivals(problem: Problem, n_classes: int, mixed: bool, seed: int) -> dict[str, dict[str, float]]:
    truth, old = problem.pile_y, problem.pile_y < problem.n_known
    n_init = 10 if len(truth) < 10_000 else 3
    labels_of = {"k-means": KMeans(n_classes, n_init=n_init, random_state=seed).fit(problem.pile).labels_}
    if mixed:
        labels_of["semi-supervised k-means"] = semi_supervised_k_means(
            problem.known, problem.known_y, problem.pile, n_classes, seed
        )
    scores = {
        name: {
            kind: _percent(value)
            for kind, value in known_and_new(labels, truth, old)._asdict().items()
            if value == value
        }
        for name, labels in labels_of.items()
    }
    if mixed:  # it has names, and none for new classes
        model = LogisticRegression(C=10.0, max_iter=300).fit(problem.known, problem.known_y)
        right = model.predict(problem.pile) == truth
        scores["logistic regression"] = {"all": _percent(right.mean()), "old": _percent(right[old].mean()), "new": 0.0}
    return scores


def semi_supervised_k_means(
    known: Floats, codes: Ints, pile: Floats, n_classes: int, seed: int, starts: int = 5
) -> Ints:
    """(n,) K-means in which labelled items keep their cluster; of several starts the one with the least inertia.

    >>> known = np.array([[0.0], [0.2], [5.0]], dtype=np.float32)
    >>> pile = np.array([[0.1], [5.1], [9.0], [9.1]], dtype=np.float32)
    >>> semi_supervised_k_means(known, np.array([0, 0, 1]), pile, 3, 0).tolist()
    [0, 1, 2, 2]
    """
    fits = [_one_start(known, codes, pile, n_classes, np.random.default_rng([seed, start])) for start in range(starts)]
    return min(fits, key=lambda one: one[0])[1]


def _one_start(
    known: Floats, codes: Ints, pile: Floats, n_classes: int, random: np.random.Generator
) -> tuple[float, Ints]:
    """The inertia of the pile and its clusters; new centres start as k-means++ has them."""
    names = np.unique(codes)
    centres = [known[codes == name].mean(axis=0) for name in names]
    near = np.min([((pile - centre) ** 2).sum(axis=1) for centre in centres], axis=0)
    for _ in range(n_classes - len(names)):
        chosen = int(random.choice(len(pile), p=near / near.sum()))
        centres.append(pile[chosen])
        near = np.minimum(near, ((pile - pile[chosen]) ** 2).sum(axis=1))
    means = np.stack(centres)
    fixed = np.searchsorted(names, codes)
    rows = np.concatenate([known, pile])
    labels = np.full(len(pile), -1)
    for _ in range(ROUNDS):
        before, labels = labels, (pile @ means.T - (means**2).sum(axis=1) / 2).argmax(axis=1)
        if np.array_equal(before, labels):
            break
        everything = np.concatenate([fixed, labels])
        for k in np.unique(everything):
            means[k] = rows[everything == k].mean(axis=0)
    inertia = float(((pile - means[labels]) ** 2).sum())
    return inertia, np.asarray(labels)


DISCOVERY = """\
## Known and new classes: accuracy in % on a pile, from frozen features

`CategoryDiscoverer` with its defaults on features of EfficientNet-lite0 (160 px, unit length). ImageNet's labels, which
it was trained with, cover many of these classes, so that they are not strictly new to it. `new`: the pile has new
classes alone. `mixed`: half of the items of the known classes are labelled, the pile has the rest and all new classes.
Outputs are matched with classes once over the whole pile; old and new are the items of known and of new classes. Rivals
see the same features, and are given the number of classes; logistic regression knows no new class.
"""

HEADER = (
    "protocol",
    "number of classes",
    "all",
    "old",
    "new",
    "found",
    "rivals: all / old / new",
    "core-minutes",
    "command",
)
NUMERIC = {"all", "old", "new", "core-minutes"}


def discovery_section(results: Path) -> str:
    """The same records give the same text."""
    order = list(PROTOCOLS)
    records = sorted(
        read_records(results, TABLE, DiscoveryRecord),
        key=lambda r: (order.index(r.protocol), r.classes != "true", r.seed),
    )
    if not records:
        return f"{DISCOVERY}\nNothing is recorded yet: `likewise paper discovery` makes the records.\n"
    unseen = [
        f"Unseen classes, {r.protocol}, seed {r.seed}: later items of classes in neither labels nor pile are told from "
        f"those of known and found classes with an AUROC of {r.unseen_auroc:.3f}.\n"
        for r in records
        if r.unseen_auroc is not None
    ]
    rows = [_row(record) for record in records]
    return "\n".join([DISCOVERY, table(HEADER, rows, NUMERIC), *unseen, machines(records), *notes(results, TABLE)])


def _row(record: DiscoveryRecord) -> tuple[str, ...]:
    low, high = record.interval
    counted = f"{record.estimate} ({low} to {high}) of {record.n_classes}" if record.classes != "true" else ""
    rivals = "; ".join(
        f"{name} {' / '.join(f'{scores[kind]:.1f}' for kind in ('all', 'old', 'new') if kind in scores)}"
        for name, scores in record.rivals.items()
    )
    return (
        record.protocol,
        "given" if record.classes == "true" else "estimated",
        f"{record.accuracy:.1f}",
        *("" if value is None else f"{value:.1f}" for value in (record.old, record.new)),
        counted,
        rivals,
        f"{record.cpu_seconds / 60:.1f}",
        f"`{record.command}`",
    )
