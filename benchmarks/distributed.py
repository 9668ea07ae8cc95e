"""A training step in several processes, its time and the bytes sent: `python -m benchmarks.distributed`.

The step is MCL on an MLP, forward and backward through the parts that `train` uses. What the pairs need, rows gathered
and sums added up, is counted where it is sent; the gradients of the weights, which any training over processes adds up,
beside it. On one machine with fewer free cores than processes, the time says what it costs and not what is gained.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import torch

from likewise.benchmarks.measure import seconds
from likewise.criteria import MCL
from likewise.distributed import join, leave, share, sharing, traffic, world
from likewise.networks import build
from likewise.storage.records import machine, write_json
from likewise.supervision import label_objective
from likewise.training import Batch
from likewise.training.forward import gather_outputs, in_parallel

BATCHES = (256, 1024, 4096)
PROCESSES = (1, 2, 4)
FEATURES, OUTPUTS = 64, 100
MOST_GROWTH = 1.05  # of the bytes for pairs, when b is four times as large: four times, and not sixteen


@dataclass(frozen=True)
class Step:
    """What one process, the first, took and sent."""

    processes: int
    b: int
    milliseconds: float  # median
    bytes_for_pairs: float
    bytes_for_weights: float
    waits: int  # for the other processes, because of pairs


def measure(batches: Sequence[int], processes: int, repeats: int) -> list[Step]:
    """Measure steps in so many processes, one thread each."""
    with tempfile.TemporaryDirectory() as folder:
        told = json.dumps({"batches": list(batches), "repeats": repeats, "folder": folder})
        started = []
        for rank in range(processes):
            own = os.environ | {"RANK": str(rank), "WORLD_SIZE": str(processes), "OMP_NUM_THREADS": "1"}
            own["TORCH_CPP_LOG_LEVEL"] = "ERROR"
            started.append(subprocess.Popen([sys.executable, "-m", "benchmarks.distributed", told], env=own))
        failed = [process.wait() for process in started]
        if any(failed):
            raise RuntimeError(f"The processes ended with {failed}.")
        return [Step(**step) for step in json.loads((Path(folder) / "steps.json").read_text(encoding="utf-8"))]


def measure_here(batches: Sequence[int], repeats: int) -> list[Step]:
    """The steps of this process, which has joined the others."""
    size = world().size
    network = build("mlp", OUTPUTS, (FEATURES,), seed=0)
    weights = 4 * sum(parameter.numel() for parameter in network.parameters())
    steps = []
    with gather_outputs(network):
        objective = in_parallel(network, label_objective(MCL()))
        for b in batches:
            draw = torch.Generator().manual_seed(b)
            inputs, labels = torch.randn(b, FEATURES, generator=draw), torch.randint(OUTPUTS, (b,), generator=draw)
            batch = Batch(inputs[share(b).rows], labels, torch.arange(b))

            def step(batch: Batch = batch) -> None:
                network.zero_grad()
                with sharing(len(batch.labels)):
                    objective(network, batch)[0].backward()  # type: ignore[no-untyped-call]

            step()
            with traffic() as sent:
                times = [seconds(step) for _ in range(repeats)]
            steps.append(
                Step(
                    size,
                    b,
                    round(1000 * statistics.median(times), 3),
                    sent.bytes / repeats,
                    2 * weights * (size - 1) / size,
                    sent.calls // repeats,
                )
            )
    return steps


def judge(steps: Sequence[Step]) -> tuple[str, float | None, str]:
    """The bar, what was measured, and the verdict: by how much more than in proportion the bytes for pairs grow."""
    shared = [step for step in steps if step.processes > 1]
    growth = [
        (after.bytes_for_pairs / before.bytes_for_pairs) / (after.b / before.b)
        for before, after in pairwise(shared)
        if before.processes == after.processes
    ]
    bar = f"bytes for pairs grow with b, by at most {MOST_GROWTH:g} times as much"
    if not growth:
        return bar, None, "not measured"
    return bar, round(max(growth), 4), "pass" if max(growth) <= MOST_GROWTH else "miss"


def record(steps: Sequence[Step], repeats: int) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    bar, measured, verdict = judge(steps)
    return {
        **machine(),
        "threads": 1,
        "cores": os.cpu_count(),
        "step": f"MCL on an MLP, {FEATURES} features, {OUTPUTS} outputs, float32, gloo, forward and backward",
        "repeats": repeats,
        "steps": [asdict(step) for step in steps],
        "bars": [{"bar": bar, "measured": measured, "verdict": verdict}],
    }


def report(steps: Sequence[Step]) -> Iterator[str]:
    """The lines to print: a step each, and the bar."""
    yield f"{'processes':>9} {'b':>6} {'ms a step':>10} {'kB for pairs':>13} {'kB for weights':>15} {'kB if b x b':>12}"
    for step in steps:
        square = 4 * step.b**2 * (step.processes - 1) / step.processes / 1000
        sent = f"{step.bytes_for_pairs / 1000:>13.1f} {step.bytes_for_weights / 1000:>15.1f} {square:>12.1f}"
        yield f"{step.processes:>9} {step.b:>6} {step.milliseconds:>10.1f} {sent}"
    bar, measured, verdict = judge(steps)
    yield f"{verdict:<12} {bar}{'' if measured is None else f': {measured:g}'}"


def run_rank(told: str) -> None:
    """One of the processes that `measure` starts."""
    given = json.loads(told)
    join(init_method=f"file://{given['folder']}/meeting")
    steps = measure_here(given["batches"], given["repeats"])
    if world().rank == 0:
        path = Path(given["folder"]) / "steps.json"
        path.write_text(json.dumps([asdict(step) for step in steps]), encoding="utf-8")
    leave()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/distributed.json"))
    parser.add_argument("--batch-size", type=int, action="append", help="Default: 256, 1,024 and 4,096.")
    parser.add_argument("--processes", type=int, action="append", help="Default: 1, 2 and 4.")
    parser.add_argument("--repeats", type=int, default=20, help="Measured steps of each.")
    options = parser.parse_args()
    batches = options.batch_size or BATCHES
    steps = [step for size in options.processes or PROCESSES for step in measure(batches, size, options.repeats)]
    write_json(options.out, record(steps, options.repeats))
    print(*report(steps), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("{"):
        run_rank(sys.argv[1])
    else:
        main()
