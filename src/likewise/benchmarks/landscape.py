"""A row of a loss surface beside the obvious loop over its points, for LeNet on images of 28 x 28.

The loop loads the weights of a point into the network and calls it batch by batch, without autograd; all three losses
come from the same logits. It is measured as one would write it, and with the images in the memory order that
convolutions are fastest in. Beside it stands `torch.func.vmap` over the weights of a few points at a time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, vmap

from likewise.benchmarks.measure import Outcome, side_by_side
from likewise.criteria import KCL, MCL
from likewise.landscape.grid import RowLosses
from likewise.landscape.job import FixedBatch, Job, make_job
from likewise.networks import build
from likewise.storage.records import machine
from likewise.training.batches import channels_last

ITEMS, POINTS, REPEATS = 1000, 91, 3  # a row of the usual grid
BATCH, SIDE, N_CLASSES, TOGETHER = 100, 28, 10, 4  # vmap has the weights of four points at once
LOSSES = ("ce", "mcl", "kcl")
AT_LEAST = 3.0  # loop / ours
ALPHA = 0.25

Losses = NDArray[np.float64]  # (losses, points)


def synthetic_job(items: int, points: int) -> Job:
    """LeNet with its first weights, images of noise, and one row of points."""
    random = torch.Generator().manual_seed(0)
    images = torch.randn(items, 1, SIDE, SIDE, generator=random)
    labels = torch.arange(items) % N_CLASSES
    starts = range(0, items, BATCH)
    batches = tuple(FixedBatch(images[i : i + BATCH], labels[i : i + BATCH]) for i in starts)
    network = build("lenet", N_CLASSES, (1, SIDE, SIDE), seed=0)
    job = make_job([network], batches, losses=LOSSES, grid=2)
    return Job(**{**vars(job), "alpha": (ALPHA,), "beta": tuple(np.linspace(-1, 1, points).tolist())})


def ours(job: Job) -> Losses:
    in_order = [FixedBatch(channels_last(batch.inputs), batch.target) for batch in job.batches]
    return RowLosses(Job(**{**vars(job), "batches": tuple(in_order)})).row(0).values.astype(np.float64)


def loop(job: Job, *, in_channels_last: bool = False) -> Losses:
    """Point by point, in training mode, so that batch-norm has the statistics of the batch."""
    network = build("lenet", N_CLASSES, (1, SIDE, SIDE), seed=0).train()
    batches = [batch.inputs for batch in job.batches]
    if in_channels_last:
        network = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        batches = [channels_last(inputs) for inputs in batches]
    losses = []
    with torch.no_grad():
        for beta in job.beta:
            network.load_state_dict(job.plane.at(ALPHA, beta), strict=False)
            losses.append(_losses([network(inputs) for inputs in batches], job.batches))
    return np.array(losses).T


def mapped(job: Job) -> Losses:
    """The weights of several points stacked, and the network mapped over them."""
    network: nn.Module = build("lenet", N_CLASSES, (1, SIDE, SIDE), seed=0)
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.running_mean = module.running_var = None
    call = vmap(lambda point, inputs: functional_call(network, point, (inputs,)), in_dims=(0, None))
    losses = []
    with torch.no_grad():
        for start in range(0, len(job.beta), TOGETHER):
            points = [job.plane.at(ALPHA, beta) for beta in job.beta[start : start + TOGETHER]]
            stacked = {name: torch.stack([point[name] for point in points]) for name in points[0]}
            logits = [call(stacked, batch.inputs) for batch in job.batches]
            losses += [_losses([part[i] for part in logits], job.batches) for i in range(len(points))]
    return np.array(losses).T


def _losses(logits: Sequence[Tensor], batches: Sequence[FixedBatch]) -> list[float]:
    criteria = (nn.CrossEntropyLoss(), MCL(), KCL())
    pairs = list(zip(logits, batches, strict=True))
    return [float(np.mean([float(criterion(part, batch.target)) for part, batch in pairs])) for criterion in criteria]


CONTENDERS: dict[str, Callable[[Job], Losses]] = {
    "loop": loop,
    "loop in channels_last": lambda job: loop(job, in_channels_last=True),
    "vmap": mapped,
    "ours": ours,
}


@dataclass(frozen=True)
class Comparison:
    """Times are for one point: medians of the repeats, and CPU times those of all threads."""

    items: int
    points: int
    repeats: int
    milliseconds: dict[str, float]
    cpu_milliseconds: dict[str, float]
    losses_differ: float  # from the loop's, at most, as a share of them

    def ratios(self) -> dict[str, dict[str, float]]:
        """Each contender over ours."""
        measured = {"time": self.milliseconds, "cpu_time": self.cpu_milliseconds}
        return {
            kind: {name: round(values[name] / values["ours"], 3) for name in CONTENDERS if name != "ours"}
            for kind, values in measured.items()
        }


def compare(items: int = ITEMS, points: int = POINTS, repeats: int = REPEATS) -> Comparison:
    """Measure all in turns, after one that warms up and shows that they compute the same."""
    job = synthetic_job(items, points)
    losses = {name: call(job) for name, call in CONTENDERS.items()}
    differ = max(float(np.max(np.abs(losses["loop"] - each) / losses["loop"])) for each in losses.values())
    cpu: dict[str, list[float]] = {name: [] for name in CONTENDERS}

    def timed(name: str) -> Callable[[], None]:
        def call() -> None:
            started = time.process_time()
            CONTENDERS[name](job)
            cpu[name].append(time.process_time() - started)

        return call

    times = side_by_side({name: timed(name) for name in CONTENDERS}, dict.fromkeys(CONTENDERS, repeats))
    return Comparison(
        items=items,
        points=points,
        repeats=repeats,
        milliseconds={name: _milliseconds(times[name], points) for name in CONTENDERS},
        cpu_milliseconds={name: _milliseconds(cpu[name], points) for name in CONTENDERS},
        losses_differ=differ,
    )


def _milliseconds(seconds: Sequence[float], points: int) -> float:
    return round(1000 * statistics.median(seconds) / points, 2)


def judge(comparison: Comparison) -> tuple[str, float, str]:
    """The bar, what was measured and the verdict; the bar is for one number of items."""
    ratio = comparison.ratios()["time"]["loop"]
    verdict = "not measured" if comparison.items != ITEMS else "pass" if ratio >= AT_LEAST else "miss"
    return f"{ITEMS} items, loop/ours in time at least {AT_LEAST:g}", ratio, verdict


def record(comparison: Comparison) -> dict[str, Any]:
    """All that was measured, with what it was measured on, for a JSON file."""
    bar, measured, verdict = judge(comparison)
    return {
        **machine(),
        "work": f"LeNet on {SIDE}x{SIDE} images, batches of {BATCH}, CE, MCL and KCL, batch-norm recomputed, float32",
        **asdict(comparison),
        "ratios": comparison.ratios(),
        "bars": [{"bar": bar, "measured": measured, "verdict": verdict}],
    }


def report(comparison: Comparison) -> Iterator[str]:
    """The lines to print: each contender for one point, its ratio to ours, and then the bar."""
    ratios = comparison.ratios()
    yield f"{'one point':<22} {'ms':>8} {'ms of CPU':>10} {'/ ours':>8} {'CPU / ours':>11}"
    for name in CONTENDERS:
        times = f"{comparison.milliseconds[name]:>8.0f} {comparison.cpu_milliseconds[name]:>10.0f}"
        over = "" if name == "ours" else f" {ratios['time'][name]:>8.2f} {ratios['cpu_time'][name]:>11.2f}"
        yield f"{name:<22} {times}{over}"
    bar, measured, verdict = judge(comparison)
    yield f"{verdict:<12} {bar}: {measured:g}"


def run(n_items: int, points: int, repeats: int) -> Outcome:
    comparison = compare(n_items, points, repeats)
    return record(comparison), report(comparison)
