"""The ablation: Table 1's runs with one option each, recorded in the same form."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn

from likewise.criteria import mcl
from likewise.datasets import DataSet, Items, load
from likewise.paper.recipe import check_name, rows_of
from likewise.paper.records import machines, notes, read_records, run_missing, table
from likewise.paper.table1 import Table1Record, config_of, run_entry
from likewise.paper.table1_entries import NO_TREATMENT, Entry, Recipe, Treatment, recipes
from likewise.supervision import PER_OUTPUT, LabelKnowledge, RecentOutputs, joint_objective, label_objective
from likewise.training import TrainingResult, train_labelled
from likewise.training.forward import Objective
from likewise.training.orders import ClassOrder
from likewise.training.settings import Precision

# What was tried so that MCL starts early and keeps its classes apart, each option alone.
#
# Only the joint term paid and is part of the library (criteria/joint.py, supervision/joint.py). The others live here,
# for the table.

Loss = Callable[[Tensor, Tensor], Tensor]  # (logits (b, K), labels (b,)) -> the loss of the batch

SCALE = 4.0
ENTROPY = 1.0
VOLUME = 0.01
FLOOR = 1e-3  # of the eigenvalues, so that the logarithm is finite while outputs are merged


@dataclass(frozen=True)
class Option:
    """One change to MCL as the recipe has it."""

    words: str
    numbers: dict[str, object] = field(default_factory=dict)  # its numbers, for the record
    loss: Loss | None = None  # in place of MCL
    scale: float = 1.0  # of the last layer's weights at the start
    half_the_classes: bool = False  # in each batch, so that "same" is twice as frequent
    joint: bool = False  # joint MCL
    remembered: int = 0  # items for each output that joint MCL remembers


def balanced(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL in which the pairs that are the same count as much as those that are different."""
    same = (labels[:, None] == labels).to(logits)
    others = same.sum() - len(labels)
    weight = torch.where(same > 0, 1 / others.clamp_min(1), 1 / (1 - same).sum().clamp_min(1))
    return mcl(logits, same, weight=weight)


def sharpened(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL of a softmax at a quarter of the temperature."""
    return mcl(SCALE * logits, labels, self_pairs=True)


def spread_out(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL, less the entropy of the mean output: all outputs are to be used."""
    mean = logits.softmax(1).mean(0)
    entropy: Tensor = torch.special.entr(mean).sum()
    return mcl(logits, labels, self_pairs=True) - ENTROPY * entropy


def voluminous(logits: Tensor, labels: Tensor) -> Tensor:
    """MCL, less the log-determinant of the outputs' second moments (Nguyen et al., ICML 2023, VolMaxDCC)."""
    p = logits.softmax(1)
    k = p.shape[1]
    moments = k * p.T @ p / len(p) + FLOOR * torch.eye(k, device=p.device)  # (K, K)
    return mcl(logits, labels, self_pairs=True) - VOLUME * torch.logdet(moments)


OPTIONS: dict[str, Option] = {
    "balance": Option('"same" and "different" count alike', loss=balanced),
    "scale": Option(f"the last layer's weights times {SCALE:g} at the start", {"scale": SCALE}, scale=SCALE),
    "temperature": Option(f"softmax of {SCALE:g} times the logits", {"temperature": 1 / SCALE}, sharpened),
    "entropy": Option("plus the entropy of the mean output", {"entropy": ENTROPY}, spread_out),
    "volume": Option(f"plus {VOLUME:g} log-determinant of the outputs", {"volume": VOLUME}, voluminous),
    "classes": Option("half of the classes in each batch", half_the_classes=True),
    "joint": Option("joint, batch by batch", joint=True),
    "joint-memory": Option(
        f"joint, with the last {PER_OUTPUT} items per output (kept)",
        {"remembered": PER_OUTPUT},
        joint=True,
        remembered=PER_OUTPUT,
    ),
}


def rescale(network: nn.Module, factor: float) -> None:
    """Multiply the weights of the last layer."""
    last = network.get_submodule("last")
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(factor)


# Entries of the ablation: a row of Table 1 with MCL and one option, or none, or with cross-entropy.

TABLE = "ablation"
PLAIN = ("ce", "mcl")
EPOCHS = {
    ("mnist", "lenet"): 8,
    ("cifar10", "lenet"): 8,
    ("cifar10", "vgg8"): 8,
    ("cifar10", "vgg11"): 8,
    ("cifar100", "vgg8"): 24,
}
PRECISION: Precision = "bfloat16"  # of all runs, for time: only figures made in the same way are compared
# Written out, since the options themselves need torch; a test compares them.
OPTION_NAMES = ("balance", "scale", "temperature", "entropy", "volume", "classes", "joint", "joint-memory")


@dataclass(frozen=True)
class AblationEntry(Entry):
    """One figure of the ablation; the treatment is the option."""

    @property
    def option(self) -> str:
        return self.criterion if self.treatment == NO_TREATMENT else self.treatment

    @property
    def command(self) -> str:
        recipe = self.recipe
        parts = ["likewise paper ablation --dataset", recipe.dataset, "--network", recipe.network]
        parts += ["--option", self.option, "--seed", str(self.seed)]
        if self.settings.epochs != EPOCHS[recipe.dataset, recipe.network]:
            parts += ["--epochs", str(self.settings.epochs)]
        return " ".join(parts)


def ablation_recipes() -> list[Recipe]:
    """The rows of Table 1 that the ablation looks at, with an option in place of each treatment."""
    return [_with_options(recipe) for recipe in recipes("table1") if (recipe.dataset, recipe.network) in EPOCHS]


def _with_options(recipe: Recipe) -> Recipe:
    options = {name: Treatment(recipe.expect.mcl) for name in OPTION_NAMES}
    return replace(recipe, table=TABLE, training=replace(recipe.training, precision=PRECISION), treatment=options)


def select_ablation(
    *,
    dataset: str | None = None,
    network: str | None = None,
    option: str | None = None,
    seed: int = 0,
    epochs: int | None = None,
) -> list[AblationEntry]:
    """The entries that fit every filter given; without `epochs`, 8 of them, and 24 on CIFAR-100.

    >>> [entry.name for entry in select_ablation(network="vgg11", option="joint-memory")]
    ['cifar10-vgg11-mcl-joint-memory-seed0-8ep']
    >>> select_ablation(dataset="cifar100", option="ce")[0].command
    'likewise paper ablation --dataset cifar100 --network vgg8 --option ce --seed 0'
    """
    check_name("--option", option, (*PLAIN, *OPTION_NAMES))
    return [
        AblationEntry(recipe, name, NO_TREATMENT, seed, epochs or EPOCHS[recipe.dataset, recipe.network])
        if name in PLAIN
        else AblationEntry(recipe, "mcl", name, seed, epochs or EPOCHS[recipe.dataset, recipe.network])
        for recipe in rows_of(ablation_recipes(), dataset, network)
        for name in (*PLAIN, *OPTION_NAMES)
        if option in (None, name)
    ]


def run_ablation(
    entries: Sequence[AblationEntry], *, data: Path | None, runs: Path, results: Path
) -> Iterator[tuple[Table1Record, Path, bool]]:
    """Run each entry that has no record, resuming what was begun; gives the record, its file, and whether it ran."""
    load_once = functools.cache(lambda name: load(name, data))

    def run(entry: AblationEntry) -> Table1Record:
        return run_ablation_entry(entry, load_once(entry.recipe.dataset), runs / TABLE / entry.name)

    return run_missing(entries, results, TABLE, Table1Record, run)


def run_ablation_entry(entry: AblationEntry, data: DataSet, run: Path) -> Table1Record:
    if entry.option in PLAIN:
        return run_entry(entry, data, run)
    record = run_entry(entry, data, run, train_option)
    return replace(record, settings={**record.settings, **_numbers(entry)})


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
        config={**config_of(entry, criterion), **_numbers(entry)},
        objective=objective,
        order=order,
    )


def _numbers(entry: Entry) -> dict[str, object]:
    return {"option": OPTIONS[entry.treatment].numbers}


# The section of RESULTS.md on the start of MCL: cross-entropy, MCL as it is, and each option alone.

ABLATION = """\
## An MCL that starts: each option alone, error in % on the test set

Rows of Table 1 with a compressed schedule, all in bfloat16. CE sees class labels, and every other row only which pairs
are of the same class. "Above CE" is the difference to CE with the same seed. Joint MCL takes the answers of a batch
together, where MCL takes them pair by pair (see `src/likewise/criteria/joint.py`). CE and MCL without an option are
taken from Table 1 where its run was in bfloat16 too.
"""

HEADER = ("data set", "network", "what is learned", "error", "above CE", "schedule", "seed", "core-minutes", "command")
NUMERIC = {"error", "above CE", "core-minutes"}
WORDS = {"ce": "CE, with labels", "mcl": "MCL"} | {name: f"MCL, {option.words}" for name, option in OPTIONS.items()}
ROWS = list(EPOCHS)
NAMES = [*PLAIN, *OPTION_NAMES]


def ablation_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(_records(results), key=_place)
    if not records:
        return f"{ABLATION}\nNo run is recorded yet: `likewise paper ablation` makes the records.\n"
    with_labels = {_twin(record): record.error for record in records if record.criterion == "ce"}
    rows = [row for _, group in groupby(records, key=_entry) for row in _entry_rows(list(group), with_labels)]
    return "\n".join([ABLATION, table(HEADER, rows, NUMERIC), machines(records), *notes(results, TABLE)])


def _records(results: Path) -> list[Table1Record]:
    """The ablation's own, and those of Table 1 that were made in the same way and are not among them."""
    own = read_records(results, TABLE, Table1Record)
    names = {record.name for record in own}
    return own + [
        record
        for record in read_records(results, "table1", Table1Record)
        if EPOCHS.get((record.dataset, record.network)) == record.epochs
        and record.criterion in PLAIN
        and record.treatment == NO_TREATMENT
        and record.settings.get("precision") == PRECISION
        and record.name not in names
    ]


def _option(record: Table1Record) -> str:
    return record.criterion if record.treatment == NO_TREATMENT else record.treatment


def _entry(record: Table1Record) -> tuple[str, str, str, int]:
    """Records that agree in this differ in the seed alone."""
    return record.dataset, record.network, _option(record), record.epochs


def _twin(record: Table1Record) -> tuple[str, str, int, int]:
    """Records that agree in this can be compared."""
    return record.dataset, record.network, record.epochs, record.seed


def _place(record: Table1Record) -> tuple[int, int, int, int]:
    return ROWS.index((record.dataset, record.network)), record.epochs, NAMES.index(_option(record)), record.seed


def _entry_rows(
    records: Sequence[Table1Record], with_labels: Mapping[tuple[str, str, int, int], float]
) -> list[tuple[str, ...]]:
    """A row for each seed, and where there are several one with their means."""
    above = [
        record.error - with_labels[_twin(record)] if _twin(record) in with_labels and record.criterion != "ce" else None
        for record in records
    ]
    rows = [
        _row(record, record.error, gap, str(record.seed), f"{record.cpu_seconds / 60:.1f}", f"`{record.command}`")
        for record, gap in zip(records, above, strict=True)
    ]
    if len(records) > 1:
        gaps = [gap for gap in above if gap is not None]
        gap = mean(gaps) if len(gaps) == len(records) else None
        seeds = ", ".join(str(record.seed) for record in records)
        rows.append(_row(records[0], mean(record.error for record in records), gap, f"mean of {seeds}", "", ""))
    return rows


def _row(
    record: Table1Record, error: float, above: float | None, seed: str, minutes: str, command: str
) -> tuple[str, ...]:
    gap = "" if above is None else f"{above:+.2f}"
    schedule = f"{record.epochs} of {record.paper_epochs} epochs"
    words = WORDS[_option(record)]
    return (record.dataset, record.network, words, f"{error:.2f}", gap, schedule, seed, minutes, command)
