"""A training step of the similarity network beside the same network with every pair of features written out.

Both have the four-convolution trunk of Omniglot (1,024 features of 32 x 32 images) and the same weights, and a step is
forward, binary cross-entropy over all ordered pairs, backward and Adam.

`python -m likewise.benchmarks.similarity NAME b HIDDEN THREADS` prints the MiB that a step takes beyond the weights and
Adam's moments, which stay between steps.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from likewise.benchmarks.measure import MEBIBYTE, Outcome, mebibytes_alone, peak_bytes, side_by_side
from likewise.errors import InputError
from likewise.networks import VGG, PairHead, SimilarityModule
from likewise.networks.architectures import STAGES
from likewise.storage.records import machine
from likewise.training.batches import channels_last

BATCH, HIDDEN, REPEATS = 100, 4096, 5
SIDE, N_CLASSES = 32, 10
CONTENDERS = ("plain", "ours")
AT_LEAST = {"time": 10.0, "memory": 4.0}  # plain / ours


class PlainSimilarityModule(SimilarityModule):
    """The same layers and weights, with the pairs' features put end to end: b^2 rows of 2 d numbers."""

    def forward(self, x: Tensor) -> Tensor:
        features = self.features(x)
        b = len(features)
        pairs = torch.cat([features.repeat_interleave(b, 0), features.repeat(b, 1)], 1)  # (b^2, 2 d)
        head = self.head
        assert isinstance(head, PairHead)
        logits: Tensor = head.last(head.norm(head.first(pairs)).relu_())
        return logits.view(b, b)


class Trainee:
    """A contender's network and optimizer, with images and labels made up from a seed."""

    def __init__(self, name: str, hidden: int = HIDDEN) -> None:
        kind = {"plain": PlainSimilarityModule, "ours": SimilarityModule}[name]
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            trunk = VGG(1, (1, SIDE, SIDE), STAGES["omniglot"])
            self.network = kind(trunk, hidden=hidden).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.Adam(self.network.parameters(), fused=True)

    def step(self, b: int) -> Tensor:
        """One training step on b images; gives the logits (b, b) before it."""
        images = torch.randn(b, 1, SIDE, SIDE, generator=torch.Generator().manual_seed(1))
        labels = torch.arange(b) % N_CLASSES
        self.optimizer.zero_grad()
        logits: Tensor = self.network(channels_last(images))
        loss = binary_cross_entropy_with_logits(logits, (labels[:, None] == labels).float())
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return logits.detach()

    def gradient_bytes(self) -> int:
        return sum(p.grad.nbytes for p in self.network.parameters() if p.grad is not None)


@dataclass(frozen=True)
class Comparison:
    """What was measured of both; times are medians of the repeats, and CPU times those of all threads."""

    b: int
    n_features: int
    hidden: int
    repeats: int
    milliseconds: dict[str, float]
    cpu_milliseconds: dict[str, float]
    mebibytes: dict[str, float]
    logits_differ: float  # at most, in the first step

    def ratios(self) -> dict[str, float]:
        """Plain over ours."""
        measured = {"time": self.milliseconds, "cpu_time": self.cpu_milliseconds, "memory": self.mebibytes}
        return {name: round(values["plain"] / values["ours"], 3) for name, values in measured.items()}


def compare(b: int = BATCH, hidden: int = HIDDEN, repeats: int = REPEATS) -> Comparison:
    """Measure a training step of both in turns, after one that warms up and shows that they compute the same."""
    memory = {name: _memory(name, b, hidden) for name in CONTENDERS}
    trainees = {name: Trainee(name, hidden) for name in CONTENDERS}
    plain_logits, our_logits = (trainees[name].step(b) for name in CONTENDERS)
    cpu: dict[str, list[float]] = {name: [] for name in CONTENDERS}

    def step(name: str) -> None:
        started = time.process_time()
        trainees[name].step(b)
        cpu[name].append(time.process_time() - started)

    times = side_by_side(
        {"plain": lambda: step("plain"), "ours": lambda: step("ours")}, dict.fromkeys(CONTENDERS, repeats)
    )
    return Comparison(
        b=b,
        n_features=trainees["ours"].network.n_features,
        hidden=hidden,
        repeats=repeats,
        milliseconds={name: round(1000 * statistics.median(times[name]), 2) for name in CONTENDERS},
        cpu_milliseconds={name: round(1000 * statistics.median(cpu[name]), 2) for name in CONTENDERS},
        mebibytes=memory,
        logits_differ=float((plain_logits - our_logits).abs().max()),
    )


def judge(comparison: Comparison) -> list[tuple[str, float, str]]:
    """Each bar with what was measured and the verdict; the bars are for one size."""
    ratios = comparison.ratios()
    right_size = (comparison.b, comparison.hidden) == (BATCH, HIDDEN)
    verdicts = []
    for name, least in AT_LEAST.items():
        verdict = "not measured" if not right_size else "pass" if ratios[name] >= least else "miss"
        verdicts.append((f"({BATCH}, {HIDDEN}) plain/ours in {name} at least {least:g}", ratios[name], verdict))
    return verdicts


def record(comparison: Comparison) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    return {
        **machine(),
        "step": f"four convolutions on {SIDE}x{SIDE} images, float32: forward, backward and Adam",
        **asdict(comparison),
        "ratios": comparison.ratios(),
        "bars": [
            {"bar": bar, "measured": measured, "verdict": verdict} for bar, measured, verdict in judge(comparison)
        ],
    }


def report(comparison: Comparison) -> Iterator[str]:
    """The lines to print: the two forms, their ratios, and then the bars."""
    ratios = comparison.ratios()
    rows = (
        ("ms", comparison.milliseconds, "time"),
        ("ms of CPU", comparison.cpu_milliseconds, "cpu_time"),
        ("MiB", comparison.mebibytes, "memory"),
    )
    yield f"{'':<10} {'plain':>8} {'ours':>8} {'ratio':>8}"
    for unit, values, ratio in rows:
        yield f"{unit:<10} {values['plain']:>8.0f} {values['ours']:>8.0f} {ratios[ratio]:>8.2f}"
    for bar, measured, verdict in judge(comparison):
        yield f"{verdict:<12} {bar}: {measured:g}"


def _memory(name: str, b: int, hidden: int) -> float:
    arguments = (name, str(b), str(hidden), str(torch.get_num_threads()))
    mebibytes = mebibytes_alone("likewise.benchmarks.similarity", *arguments)
    if mebibytes is None:
        raise InputError(f"A step of the {name} form was killed for its memory; free some 2 GiB and measure again.")
    return mebibytes


def step_mebibytes(name: str, b: int, hidden: int) -> float:
    """Memory of a step beyond weights and moments; meant for a process that runs nothing else.

    A step on four images comes first, for what is loaded or made once. Its peak has gradients too, so they are added.
    """
    trainee = Trainee(name, hidden)
    trainee.step(4)
    before = peak_bytes()
    trainee.step(b)
    return (peak_bytes() - before + trainee.gradient_bytes()) / MEBIBYTE


def run(repeats: int) -> Outcome:
    comparison = compare(repeats=repeats)
    return record(comparison), report(comparison)


if __name__ == "__main__":
    who, size, width, threads = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    print(step_mebibytes(who, size, width))
