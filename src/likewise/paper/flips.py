"""KCL and MCL taught by the truth, of which a share of the pairs is wrong: is a gap to the paper the similarity's?

    S(i, j) = [y_i = y_j],   flipped for a share e of the pairs, the same pairs in every epoch

or wrong as the similarity of the recipe `paper` is: it misses 44 % of the same pairs, and calls 0.46 % of the different
ones the same. Network, schedule and crops are those of that recipe, on single alphabets of Omniglot, with 100 outputs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor, nn

from likewise.criteria import KCL, MCL
from likewise.datasets import OMNIGLOT_MEAN, OMNIGLOT_STD, Items, load_omniglot
from likewise.evaluation import accuracy, confusion, match_outputs, n_dominant
from likewise.networks import build
from likewise.paper.recipe import compress
from likewise.paper.records import Record, machines, notes, read_records, run_missing, table
from likewise.paper.transfer_entries import MOST_OUTPUTS, transfer_recipes
from likewise.storage.records import machine
from likewise.supervision.labels import LabelledBatch
from likewise.training import TensorBatches, predict_logits, train

TABLE = "flips"
ALPHABETS = ("Angelic", "Tengwar")  # of the evaluation set: two of the small ones
RATES = ("0", "0.01", "0.03", "0.1", "similarity")
RECALL = {"same": 0.5597, "different": 0.9954}  # of the similarity of `paper` on the evaluation alphabets


@dataclass(frozen=True)
class FlipEntry:
    method: str
    alphabet: str
    rate: str  # of the flips, or "similarity"
    epochs: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.method}-{self.alphabet}-{self.rate}-seed{self.seed}-{self.epochs}ep"


@dataclass(frozen=True, kw_only=True)
class FlipRecord(Record):
    method: str
    alphabet: str
    rate: str
    seed: int
    epochs: int
    true_classes: int
    n_classes: int  # dominant outputs, as in Table 5
    acc: float  # in %
    same_precision: float  # of the target
    same_recall: float

    @property
    def name(self) -> str:
        return FlipEntry(self.method, self.alphabet, self.rate, self.epochs, self.seed).name


def select_flips(method: str | None, alphabet: str | None, rate: str | None, epochs: int, seed: int) -> list[FlipEntry]:
    return [
        FlipEntry(one, name, wrong, epochs, seed)
        for name in ([alphabet] if alphabet else ALPHABETS)
        for wrong in RATES
        for one in ("kcl", "mcl")
        if method in (None, one) and rate in (None, wrong)
    ]


def run_flips(
    entries: Sequence[FlipEntry], *, data: Path | None, results: Path
) -> Iterator[tuple[FlipRecord, Path, bool]]:
    """Run each entry that has no record yet; gives record, path and whether it ran."""
    alphabets: dict[str, Items] = {}

    def run(entry: FlipEntry) -> FlipRecord:
        if not alphabets:
            alphabets.update(load_omniglot("evaluation", data))
        return run_flip(entry, alphabets[entry.alphabet])

    return run_missing(entries, results, TABLE, FlipRecord, run)


def wrong_target(labels: Tensor, rate: str, seed: int) -> Tensor:
    """(n, n) 1 where two items are said to be the same, 0 where not; symmetric, and 1 on the diagonal.

    >>> wrong_target(torch.tensor([0, 0, 1]), "0", 0).tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    same = labels[:, None] == labels
    draw = torch.rand(same.shape, generator=torch.Generator().manual_seed(seed))
    draw = draw.triu(1) + draw.triu(1).T
    if rate == "similarity":
        wrong = draw < torch.where(same, 1 - RECALL["same"], 1 - RECALL["different"])
    else:
        wrong = draw < float(rate)
    return (same ^ wrong.fill_diagonal_(False)).float()


def run_flip(entry: FlipEntry, items: Items) -> FlipRecord:
    recipe = next(one for one in transfer_recipes() if one.name == "paper")
    schedule = recipe.training
    drops = compress(schedule.drops, schedule.epochs, entry.epochs)
    settings = replace(schedule, epochs=entry.epochs, drops=drops, precision="float32", seed=entry.seed)
    target = wrong_target(items.labels, entry.rate, entry.seed)
    criterion = MCL() if entry.method == "mcl" else KCL(constant_target=True)  # as the reference code has it

    def objective(network: nn.Module, batch: LabelledBatch) -> tuple[Tensor, Tensor]:
        logits = network(batch.inputs)
        here = target[batch.index][:, batch.index]  # type: ignore[attr-defined]
        return criterion(logits.float(), here.to(logits.device)), logits

    cpu = time.process_time()
    network = build(recipe.network, MOST_OUTPUTS, tuple(items.inputs.shape[1:]), seed=entry.seed)
    batches = TensorBatches(
        items.inputs,
        torch.full((len(items),), -1),
        settings.batch_size,
        seed=entry.seed,
        mean=OMNIGLOT_MEAN,
        std=OMNIGLOT_STD,
        augment=recipe.augmentation,
    )
    train(network, batches, objective, settings)
    outputs = predict_logits(network, items.inputs, mean=OMNIGLOT_MEAN, std=OMNIGLOT_STD).argmax(1).numpy()
    counts = confusion(outputs, items.labels.numpy(), MOST_OUTPUTS, items.n_classes)
    above = torch.ones_like(target).triu(1) > 0
    same, target_same = (items.labels[:, None] == items.labels)[above], target[above] > 0
    both = float((same & target_same).sum())
    return FlipRecord(
        table=TABLE,
        settings={"recipe": "paper", "outputs": MOST_OUTPUTS, "precision": settings.precision},
        method=entry.method,
        alphabet=entry.alphabet,
        rate=entry.rate,
        seed=entry.seed,
        epochs=entry.epochs,
        true_classes=items.n_classes,
        n_classes=n_dominant(outputs, MOST_OUTPUTS),
        acc=round(100 * accuracy(counts, match_outputs(counts)), 2),
        same_precision=round(both / float(target_same.sum()), 4),
        same_recall=round(both / float(same.sum()), 4),
        cpu_seconds=round(time.process_time() - cpu, 1),
        command=f"likewise paper flips --method {entry.method} --alphabet {entry.alphabet} --rate {entry.rate} "
        f"--epochs {entry.epochs} --seed {entry.seed}",
        **machine(),  # type: ignore[arg-type]
    )


FLIPS = """\
## KCL and MCL with 100 outputs, taught by the truth with wrong pairs

Single alphabets of Omniglot with the network and the schedule of recipe `paper` in Table 2. The target is the truth, of
which a share of the pairs is flipped, or which is as wrong as the similarity of that recipe. Dominant outputs are what
Table 5 counts.
"""

HEADER = ("alphabet", "pairs", "precision of same", "method", "ACC", "dominant outputs", "characters", "command")


def flips_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, TABLE, FlipRecord)
    if not records:
        return f"{FLIPS}\nNothing is recorded yet: `likewise paper flips` makes the records.\n"
    records.sort(key=lambda r: (r.alphabet, RATES.index(r.rate), r.method, r.epochs, r.seed))
    rows = [
        (
            record.alphabet,
            "as the similarity" if record.rate == "similarity" else f"{100 * float(record.rate):g} % flipped",
            f"{record.same_precision:.2f}",
            record.method,
            f"{record.acc:.1f}",
            str(record.n_classes),
            str(record.true_classes),
            f"`{record.command}`",
        )
        for record in records
    ]
    numeric = {"precision of same", "ACC", "dominant outputs", "characters"}
    return "\n".join([FLIPS, table(HEADER, rows, numeric), machines(records), *notes(results, TABLE)])
