"""How the time and memory of `Pairs.posterior` grow with the answers.

Ten answers for each item, of ten classes, one answer in ten wrong; with the answers alone, and with the outputs of a
classifier. With the answers alone it draws samples, and makes fewer sweeps where answers are many: a comparison shows
growth only among sizes with as many sweeps, so the number stands beside each cost.
`python -m likewise.benchmarks.posterior CASE ANSWERS` measures one in its own process, and prints JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from likewise.benchmarks.measure import MEBIBYTE, Outcome, peak_bytes
from likewise.pairs import Pairs
from likewise.pairs.groupings import sweeps_for
from likewise.pairs.memberships import HALF_PRECISION

ANSWERS_PER_ITEM, N_CLASSES, MISTAKES = 10, 10, 0.1
CASES = ("answers alone", "with a classifier")
PARTS = (0.1, 0.3, 1.0)  # of the answers
MORE_EACH = 1.5  # the most that an answer among the most may cost, of time and of memory, beside one among the fewest


@dataclass(frozen=True)
class Cost:
    """What one posterior took; the memory is that beyond what the process had before."""

    case: str
    answers: int
    cpu_seconds: float
    mebibytes: float
    share_wrong: float

    @property
    def how(self) -> str:
        """Where the work depends on the number of answers."""
        if self.case == CASES[0]:
            between, last = sweeps_for(self.answers)
            return f"sweeps: {between} before each estimate of the rates, {last} at the end"
        return f"messages in {'float64' if self.answers * N_CLASSES <= HALF_PRECISION else 'float32'}"


def measure(case: str, n_answers: int, seed: int = 0) -> Cost:
    """Judge synthetic answers, in this process."""
    random = np.random.default_rng(seed)
    n_items = max(n_answers // ANSWERS_PER_ITEM, 2)
    classes = random.integers(N_CLASSES, size=n_items)
    left = random.integers(n_items, size=n_answers)
    right = (left + random.integers(1, n_items, size=n_answers)) % n_items
    same = (classes[left] == classes[right]) ^ (random.random(n_answers) < MISTAKES)
    pairs = Pairs.from_arrays(np.stack([left, right], axis=1), same).index(n_items)
    logits = random.normal(size=(n_items, N_CLASSES))
    logits[np.arange(n_items), classes] += 4
    before, started = peak_bytes(), time.process_time()
    posterior = pairs.posterior(unary=logits) if case == CASES[1] else pairs.posterior(n_classes=N_CLASSES)
    took, memory = time.process_time() - started, peak_bytes() - before
    return Cost(case, n_answers, round(took, 3), round(memory / MEBIBYTE, 1), round(posterior.share_wrong, 4))


def measure_alone(case: str, n_answers: int) -> Cost:
    """The same in a process of its own, which begins with little memory."""
    command = [sys.executable, "-m", "likewise.benchmarks.posterior", case, str(n_answers)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return Cost(**json.loads(done.stdout))


def judge(costs: Sequence[Cost]) -> list[tuple[str, float, str]]:
    """For each case, how many times as much an answer costs among the most as among the fewest, and the verdict."""
    verdicts = []
    for case in dict.fromkeys(cost.case for cost in costs):
        few, *_, many = sorted((cost for cost in costs if cost.case == case), key=lambda cost: cost.answers)
        for name, figures in (
            ("CPU seconds", (few.cpu_seconds, many.cpu_seconds)),
            ("MiB", (few.mebibytes, many.mebibytes)),
        ):
            growth = figures[1] / max(figures[0], 1e-3) * few.answers / many.answers
            bar = f"{case}, {few.answers:,} to {many.answers:,} answers, {name} an answer times at most {MORE_EACH:g}"
            verdicts.append((bar, round(growth, 2), "pass" if growth <= MORE_EACH else "miss"))
    return verdicts


def record(costs: Sequence[Cost]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    from likewise.storage.records import machine

    return {
        **machine(),
        "costs": [{**asdict(cost), "how": cost.how} for cost in costs],
        "bars": [{"bar": bar, "measured": value, "verdict": verdict} for bar, value, verdict in judge(costs)],
    }


def report(costs: Sequence[Cost]) -> Iterator[str]:
    """The lines to print: the costs and then the bars."""
    yield f"{'':<18} {'answers':>12} {'CPU seconds':>12} {'MiB':>8}"
    for cost in costs:
        yield f"{cost.case:<18} {cost.answers:>12,} {cost.cpu_seconds:>12.2f} {cost.mebibytes:>8.0f}  {cost.how}"
    for bar, value, verdict in judge(costs):
        yield f"{verdict:<5} {bar}: {value:g}"


def run(answers: int) -> Outcome:
    """Measure so many answers, and a tenth and three tenths of them."""
    costs = [measure_alone(case, round(part * answers)) for case in CASES for part in PARTS]
    return record(costs), report(costs)


if __name__ == "__main__":
    print(json.dumps(asdict(measure(sys.argv[1], int(sys.argv[2])))))
