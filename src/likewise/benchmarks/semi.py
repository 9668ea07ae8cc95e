"""An epoch of Pseudo-MCL beside an epoch of the Pi-model: both see two views of each item, and only the pairs differ.

Synthetic images of MNIST's size, of which some have a label, and LeNet; an epoch goes through the one training loop.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch

from likewise.benchmarks.measure import Outcome, side_by_side
from likewise.datasets import Augmentation
from likewise.networks import build
from likewise.storage.records import machine
from likewise.supervision.semi import METHODS, Aids, natural_weights, semi_objective
from likewise.training import Settings, TensorBatches, train
from likewise.training.few_labels import LABELLED
from likewise.training.orders import FewLabelsOrder

ITEMS, LABELS, CLASSES, SIDE = 2000, 100, 10, 28
CONTENDERS = ("pi-model", "pseudo-mcl")
AT_MOST = 1.15  # pseudo-mcl / pi-model
REPEATS = 5


class Learner:
    """A contender's network, which learns on from epoch to epoch, and its data."""

    def __init__(self, name: str, items: int = ITEMS, batch_size: int = 100) -> None:
        random = torch.Generator().manual_seed(0)
        images = torch.randint(256, (items, 1, SIDE, SIDE), dtype=torch.uint8, generator=random)
        labels = torch.full((items,), -1)
        labels[:LABELS] = torch.arange(len(labels[:LABELS])) % CLASSES
        method = METHODS[name]
        assert method.regulariser is not None
        order = FewLabelsOrder(
            torch.nonzero(labels >= 0).flatten(), items, batch_size, a_batch=batch_size // LABELLED, views=method.views
        )
        augment = Augmentation(crop_padding=2)
        self.batches = TensorBatches(images, labels, batch_size, mean=(0.5,), std=(0.3,), augment=augment, order=order)
        weights = natural_weights(LABELS, items)
        self.objective = semi_objective(method.regulariser(Aids(epsilon=1.0)), order.a_batch, weights)
        self.network = build("lenet", CLASSES, (1, SIDE, SIDE), seed=0)
        self.settings = Settings(epochs=1, batch_size=batch_size, precision="float32", device="cpu")

    def epoch(self) -> None:
        train(self.network, self.batches, self.objective, self.settings, progress=False)


@dataclass(frozen=True)
class EpochTimes:
    """Medians of the epochs of each; CPU times are those of all threads."""

    items: int
    batch_size: int
    repeats: int
    seconds: dict[str, float]
    cpu_seconds: dict[str, float]

    def ratios(self) -> dict[str, float]:
        """Pseudo-MCL over the Pi-model."""
        pi, ours = CONTENDERS
        measured = {"time": self.seconds, "cpu_time": self.cpu_seconds}
        return {name: round(values[ours] / values[pi], 3) for name, values in measured.items()}


def compare(items: int = ITEMS, batch_size: int = 100, repeats: int = REPEATS) -> EpochTimes:
    """Measure an epoch of both in turns, after one that warms up."""
    learners = {name: Learner(name, items, batch_size) for name in CONTENDERS}
    cpu: dict[str, list[float]] = {name: [] for name in CONTENDERS}

    def epoch(name: str) -> None:
        started = time.process_time()
        learners[name].epoch()
        cpu[name].append(time.process_time() - started)

    for name in CONTENDERS:
        epoch(name)
        cpu[name].clear()
    pi, ours = CONTENDERS
    times = side_by_side({pi: lambda: epoch(pi), ours: lambda: epoch(ours)}, dict.fromkeys(CONTENDERS, repeats))
    return EpochTimes(
        items,
        batch_size,
        repeats,
        {name: round(statistics.median(times[name]), 4) for name in CONTENDERS},
        {name: round(statistics.median(cpu[name]), 4) for name in CONTENDERS},
    )


def judge(measured: EpochTimes) -> tuple[str, float, str]:
    """The bar, what was measured, and the verdict: by CPU time, which other programs do not spoil."""
    ratio = measured.ratios()["cpu_time"]
    return f"an epoch of pseudo-mcl at most {AT_MOST:g} of pi-model's", ratio, "pass" if ratio <= AT_MOST else "miss"


def record(measured: EpochTimes) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    bar, ratio, verdict = judge(measured)
    return {
        **machine(),
        "epoch": f"LeNet on {SIDE}x{SIDE} images, two views of each item, float32",
        **asdict(measured),
        "ratios": measured.ratios(),
        "bars": [{"bar": bar, "measured": ratio, "verdict": verdict}],
    }


def report(measured: EpochTimes) -> Iterator[str]:
    """The lines to print: both epochs, their ratios, and the bar."""
    ratios = measured.ratios()
    yield f"{'':<16} {'pi-model':>10} {'pseudo-mcl':>10} {'ratio':>8}"
    rows = (("seconds", measured.seconds, "time"), ("seconds of CPU", measured.cpu_seconds, "cpu_time"))
    for unit, values, ratio in rows:
        yield f"{unit:<16} {values['pi-model']:>10.2f} {values['pseudo-mcl']:>10.2f} {ratios[ratio]:>8.3f}"
    bar, measured_ratio, verdict = judge(measured)
    yield f"{verdict:<12} {bar}: {measured_ratio:g}"


def run(repeats: int) -> Outcome:
    measured = compare(repeats=repeats)
    return record(measured), report(measured)
