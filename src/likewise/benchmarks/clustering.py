"""What every clustering method costs on a pile as large as Omniglot's largest alphabet, all pairs of it answered.

Whole background alphabets are put together up to 47 characters, each drawn by 20 people, as 32 x 32 pixels. The answers
are as a similarity network's might be: 3 % of those about different characters are wrong, and 20 % of the others, so
that most that say "same" are wrong. Every method has K = C and K = 100, as in the paper's Table 2. How well a method
does says little about other piles: wrong answers of a network are not drawn by lot.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.benchmarks.measure import Outcome
from likewise.clustering import METHODS
from likewise.datasets import Items
from likewise.datasets.omniglot import load_omniglot
from likewise.evaluation import confusion, match_outputs, scores
from likewise.pairs import Pairs
from likewise.storage.records import machine

MOST_CLASSES = 47
WRONG_DIFFERENT, WRONG_SAME = 0.03, 0.2
MANY = 100  # K, where the number of classes is not known
AT_MOST = 120.0  # seconds of CPU: what two minutes are on one core


@dataclass(frozen=True)
class Pile:
    X: NDArray[np.float64]  # (n, d)
    labels: NDArray[np.int64]
    pairs: Pairs

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class Cost:
    method: str
    n_clusters: int  # K
    seconds: float
    cpu_seconds: float
    found: int  # clusters that are not empty
    acc: float
    nmi: float


def open_pile(data: Path | None) -> Pile:
    return make_pile(load_omniglot("background", data))


def make_pile(alphabets: Mapping[str, Items], most_classes: int = MOST_CLASSES) -> Pile:
    """The first alphabets that together have so many characters at most, and an answer about each pair of drawings."""
    inputs, labels, n_classes = [], [], 0
    for alphabet in alphabets.values():
        if n_classes + alphabet.n_classes <= most_classes:
            inputs.append(alphabet.inputs.numpy().reshape(len(alphabet), -1) / 255.0)
            labels.append(alphabet.labels.numpy() + n_classes)
            n_classes += alphabet.n_classes
    y = np.concatenate(labels)
    same = y[:, None] == y
    chance = np.triu(np.random.default_rng(0).random(same.shape), 1)
    wrong = np.where(same, WRONG_SAME, WRONG_DIFFERENT) > chance + chance.T
    return Pile(np.concatenate(inputs), y, Pairs.from_matrix(same ^ wrong))


def measure(pile: Pile, names: Sequence[str]) -> Iterator[Cost]:
    """Each method at K = C and K = 100, one after the other."""
    for name in names:
        for n_clusters in (pile.n_classes, MANY):
            model = METHODS[name](n_clusters=n_clusters)
            if getattr(model, "contradictions", None) == "refuse":
                model.set_params(contradictions="repair")
            clock, cpu = time.perf_counter(), time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that answers were repaired
                labels = model.fit(pile.X, pairs=pile.pairs).labels_
            seconds, cpu_seconds = time.perf_counter() - clock, time.process_time() - cpu
            counts = confusion(labels, pile.labels, int(labels.max()) + 1, pile.n_classes)
            made = scores(counts, match_outputs(counts))
            quality = {"acc": round(made["accuracy"], 4), "nmi": round(made["nmi"], 4)}
            spent = {"seconds": round(seconds, 2), "cpu_seconds": round(cpu_seconds, 2)}
            yield Cost(name, n_clusters, **spent, found=len(np.unique(labels)), **quality)


def judge(costs: Sequence[Cost]) -> tuple[str, float, str]:
    """The bar, the slowest, and the verdict: by CPU time, which other programs do not spoil."""
    slowest = max(cost.cpu_seconds for cost in costs)
    return f"every method at most {AT_MOST:g} seconds of CPU", slowest, "pass" if slowest <= AT_MOST else "miss"


def record(pile: Pile, costs: Sequence[Cost]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    bar, slowest, verdict = judge(costs)
    return {
        **machine(),
        "items": len(pile.X),
        "features": pile.X.shape[1],
        "classes": pile.n_classes,
        "answers": len(pile.pairs),
        "wrong": {"different": WRONG_DIFFERENT, "same": WRONG_SAME},
        "costs": [asdict(cost) for cost in costs],
        "bars": [{"bar": bar, "measured": slowest, "verdict": verdict}],
    }


def report(costs: Sequence[Cost]) -> Iterator[str]:
    """The lines to print: a method a line, and the bar."""
    yield f"{'method':<14} {'K':>4} {'seconds':>8} {'of CPU':>8} {'clusters':>9} {'ACC':>6} {'NMI':>6}"
    for cost in costs:
        yield (
            f"{cost.method:<14} {cost.n_clusters:>4} {cost.seconds:>8.1f} {cost.cpu_seconds:>8.1f} {cost.found:>9} "
            f"{cost.acc:>6.3f} {cost.nmi:>6.3f}"
        )
    bar, slowest, verdict = judge(costs)
    yield f"{verdict:<14} {bar}: {slowest:g}"


def run(method: Sequence[str] | None, data: Path | None) -> Outcome:
    pile = open_pile(data)
    costs = list(measure(pile, method or list(METHODS)))
    return record(pile, costs), report(costs)
