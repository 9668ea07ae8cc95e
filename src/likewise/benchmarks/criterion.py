"""MCL and KCL beside naive enumeration, the bare matrix products and cross-entropy, each from logits to the gradient.

    naive-mcl, naive-kcl   all b^2 pairs written out, as one would at first
    products               P P' and G P alone, with G (b, b) given: what no form of MCL can do without
    cross-entropy          torch's own
    mcl, kcl               ours

`python -m likewise.benchmarks.criterion NAME b K THREADS` prints the MiB that one of them adds to a process.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import torch
from rich import box
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch.nn.functional import cross_entropy

from likewise.benchmarks.measure import (
    GIBIBYTE,
    Outcome,
    added_mebibytes,
    available_bytes,
    mebibytes_alone,
    side_by_side,
    warm_up,
)
from likewise.criteria import kcl, mcl
from likewise.storage.records import machine

EPSILON = 1e-7
MARGIN = 2.0

Loss = Callable[[Tensor, Tensor], Tensor]


def naive_mcl(logits: Tensor, labels: Tensor) -> Tensor:
    left, right, same = enumerate_pairs(logits.softmax(1), labels)
    s_hat = (left * right).sum(1)  # (b^2,)
    return -(same * (s_hat + EPSILON).log() + (1 - same) * (1 - s_hat + EPSILON).log()).mean()


def naive_kcl(logits: Tensor, labels: Tensor) -> Tensor:
    """Each ordered pair has one direction of the divergence, so its mean is half that of pairs with both."""
    left, right, same = enumerate_pairs(logits.softmax(1), labels)
    kl = (left * ((left + EPSILON).log() - (right + EPSILON).log())).sum(1)  # (b^2,)
    return (same * kl + (1 - same) * (MARGIN - kl).clamp_min(0)).mean()


def enumerate_pairs(p: Tensor, labels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Both items of every ordered pair, (b^2, K) each, and whether they are the same, (b^2,)."""
    b = len(p)
    same = labels.repeat_interleave(b) == labels.repeat(b)
    return p.repeat_interleave(b, 0), p.repeat(b, 1), same.to(p.dtype)


LOSSES: dict[str, Loss] = {
    "naive-mcl": naive_mcl,
    "naive-kcl": naive_kcl,
    "cross-entropy": cross_entropy,
    "mcl": mcl,
    "kcl": partial(kcl, margin=MARGIN),
}

# Tensors of b^2 K floats that are there at once: for MCL both items and their gradients; for KCL both items, both with
# epsilon, both logarithms and the difference.
NAIVE_TENSORS = {"naive-mcl": 4, "naive-kcl": 7}


def naive_bytes(name: str, b: int, outputs: int) -> int:
    """Memory that a naive contender needs at its peak.

    >>> naive_bytes("naive-mcl", 4096, 100) / 2**30
    25.0
    """
    return NAIVE_TENSORS[name] * b * b * outputs * torch.float32.itemsize


def contender(name: str, b: int, outputs: int) -> Callable[[], Tensor]:
    """A call that does the contender's whole work on a fixed batch of standard normal logits, and gives the gradient.

    For the products, which have none, it gives G P.
    """
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(b, outputs, generator=generator)
    labels = torch.randint(outputs, (b,), generator=generator)
    if name == "products":
        return partial(products, logits.softmax(1), torch.randn(b, b, generator=generator))
    return partial(gradient, LOSSES[name], logits.requires_grad_(), labels)


def gradient(loss: Loss, logits: Tensor, labels: Tensor) -> Tensor:
    (result,) = torch.autograd.grad(loss(logits, labels), logits)
    return result


def products(p: Tensor, slope: Tensor) -> Tensor:
    p @ p.T  # its cost is wanted, not its value
    return slope @ p


SIZES = ((100, 10), (1000, 100), (4096, 100), (2000, 1000))  # (b, K)
CRITERIA = ("mcl", "kcl")
CONTENDERS = ("naive", "products", "cross-entropy", "ours")

SECONDS = 5.0  # for the rounds of a case, and as much for the naive form
MOST, FEWEST, FEWEST_NAIVE = 300, 10, 3  # repeats, where the caller leaves them to us


@dataclass(frozen=True)
class Case:
    """What was measured of each contender for one criterion at one size; None where a contender was not run."""

    criterion: str
    b: int
    outputs: int
    repeats: dict[str, int]
    milliseconds: dict[str, float | None]  # median of the repeats
    fastest_milliseconds: dict[str, float | None]
    mebibytes: dict[str, float | None]
    naive_needs_gibibytes: float

    def ratios(self) -> dict[str, float | None]:
        """Ratios of the median times."""
        time = self.milliseconds
        return {
            "naive/ours": _ratio(time["naive"], time["ours"]),
            "ours/products": _ratio(time["ours"], time["products"]),
            "ours/cross-entropy": _ratio(time["ours"], time["cross-entropy"]),
        }


@dataclass(frozen=True)
class Bar:
    """A ratio to reach, and the one that was measured."""

    criterion: str
    b: int
    outputs: int
    ratio: str
    at_least: float | None = None
    at_most: float | None = None

    def verdict(self, measured: float | None) -> str:
        """
        >>> Bar("mcl", 100, 10, "naive/ours", at_least=2).verdict(1.9)
        'miss'
        """
        if measured is None:
            return "not measured"
        low = self.at_least is not None and measured < self.at_least
        high = self.at_most is not None and measured > self.at_most
        return "miss" if low or high else "pass"

    def __str__(self) -> str:
        wanted = f"at least {self.at_least:g}" if self.at_least is not None else f"at most {self.at_most:g}"
        return f"{self.criterion.upper()} ({self.b}, {self.outputs}) {self.ratio} {wanted}"


BARS = (
    Bar("mcl", 1000, 100, "naive/ours", at_least=100),
    Bar("mcl", 100, 10, "naive/ours", at_least=2),
    Bar("mcl", 4096, 100, "ours/products", at_most=1.5),
    Bar("kcl", 1000, 100, "naive/ours", at_least=50),
)


def measure_cases(sizes: Sequence[tuple[int, int]] = SIZES, repeats: int | None = None) -> Iterator[Case]:
    """Measure each size for each criterion and give each case as soon as it is known.

    `repeats` is the number of rounds of a case, chosen by the time they take where it is None. A slow naive form is in
    only some of them, and in none where its tensors do not fit the memory.
    """
    known: dict[tuple[str, int, int], float | None] = {}  # the products and cross-entropy are the same for both
    for b, outputs in sizes:
        for criterion in CRITERIA:
            naive = f"naive-{criterion}"
            needed = naive_bytes(naive, b, outputs)
            names = {"naive": naive, "products": "products", "cross-entropy": "cross-entropy", "ours": criterion}
            if needed > available_bytes():
                del names["naive"]
            for name in names.values():
                if (name, b, outputs) not in known:
                    known[name, b, outputs] = _memory(name, b, outputs)
            if "naive" in names and known[naive, b, outputs] is None:  # killed: it must not take this process along
                del names["naive"]
            times = _times({role: contender(name, b, outputs) for role, name in names.items()}, repeats)
            yield Case(
                criterion=criterion,
                b=b,
                outputs=outputs,
                repeats={role: len(times.get(role, ())) for role in CONTENDERS},
                milliseconds={role: _milliseconds(statistics.median, times.get(role)) for role in CONTENDERS},
                fastest_milliseconds={role: _milliseconds(min, times.get(role)) for role in CONTENDERS},
                mebibytes={role: known[names[role], b, outputs] if role in names else None for role in CONTENDERS},
                naive_needs_gibibytes=round(needed / GIBIBYTE, 4),
            )


def judge(cases: Sequence[Case]) -> list[tuple[Bar, float | None, str]]:
    """Each bar with the measured ratio and the verdict."""
    ratios = {(case.criterion, case.b, case.outputs): case.ratios() for case in cases}
    verdicts = []
    for bar in BARS:
        measured = ratios.get((bar.criterion, bar.b, bar.outputs), {}).get(bar.ratio)
        verdicts.append((bar, measured, bar.verdict(measured)))
    return verdicts


def record(cases: Sequence[Case]) -> dict[str, object]:
    """All that was measured, with what it was measured on, for a JSON file."""
    return {
        **machine(),
        "logits": "standard normal, float32, forward and backward",
        "cases": [{**asdict(case), "ratios": case.ratios()} for case in cases],
        "bars": [{**asdict(bar), "measured": value, "verdict": verdict} for bar, value, verdict in judge(cases)],
    }


def print_report(cases: Sequence[Case], console: Console) -> None:
    """The table of the cases and then the bars, without colours and lines where the output is not a terminal."""
    console.print(_table(cases, plain=not console.is_terminal))
    colours = {"pass": "green", "miss": "bold red", "not measured": "yellow"}
    verdicts = judge(cases)
    for bar, measured, verdict in verdicts:
        figure = "" if measured is None else f": {_short(measured)}"
        console.print(f"[{colours[verdict]}]{verdict:<12}[/] {bar}{figure}", highlight=False, soft_wrap=True)
    missed = sum(verdict == "miss" for _, _, verdict in verdicts)
    console.print(f"{missed} of {len(verdicts)} bars missed.", highlight=False)


def _table(cases: Sequence[Case], plain: bool) -> Table:
    table = Table(box=None, padding=(0, 1)) if plain else Table(box=box.SIMPLE_HEAD, padding=0)  # 80 columns are enough
    for heading in ("", "b", "K", ""):
        table.add_column(heading, justify="left" if not heading else "right", no_wrap=True)
    for heading in ("naive", "products", "cross-\nentropy", "ours", "naive\n/ours", "ours\n/products", "ours\n/CE"):
        table.add_column(heading, justify="right", no_wrap=True)
    for case in cases:
        size = (case.criterion.upper(), str(case.b), str(case.outputs))
        ratios = [_short(value) for value in case.ratios().values()]
        table.add_row(*size, "ms", *(_short(case.milliseconds[name]) for name in CONTENDERS), *ratios)
        memory = [_short(case.mebibytes[name]) for name in CONTENDERS]
        if case.milliseconds["naive"] is None:
            memory[0] = f"needs {case.naive_needs_gibibytes:.0f} GiB"
        table.add_row("", "", "", "MiB", *memory)
    return table


def _times(calls: dict[str, Callable[[], torch.Tensor]], repeats: int | None) -> dict[str, list[float]]:
    expected = {role: warm_up(call) for role, call in calls.items()}
    naive = expected.pop("naive", None)
    rounds = repeats or min(MOST, max(FEWEST, int(SECONDS / sum(expected.values()))))
    turns = dict.fromkeys(calls, rounds)
    if naive is not None:
        turns["naive"] = min(rounds, max(FEWEST_NAIVE, int(SECONDS / naive)))
    return side_by_side(calls, turns)


def _memory(name: str, b: int, outputs: int) -> float | None:
    arguments = (name, str(b), str(outputs), str(torch.get_num_threads()))
    return mebibytes_alone("likewise.benchmarks.criterion", *arguments)


def _milliseconds(summary: Callable[[list[float]], float], times: list[float] | None) -> float | None:
    return None if times is None else round(1000 * summary(times), 4)


def _ratio(over: float | None, under: float | None) -> float | None:
    return None if over is None or not under else round(over / under, 3)


def _short(value: float | None) -> str:
    """
    >>> _short(0.1234), _short(12.345), _short(1234.5), _short(None)
    ('0.12', '12.3', '1234', '-')
    """
    if value is None:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def run(repeats: int | None) -> Outcome:
    """Measure every case; on a terminal each is shown as it comes."""
    screen, cases = Console(), []
    for case in measure_cases(SIZES, repeats):
        cases.append(case)
        if screen.is_terminal:  # a line and no live bar: one that redraws itself takes time from what is measured
            name = f"{case.criterion.upper()} ({case.b}, {case.outputs})"
            screen.print(f"{len(cases)}/{len(SIZES) * len(CRITERIA)}  {name}: {case.milliseconds['ours']} ms")
    page = screen if screen.is_terminal else Console(width=120)
    with page.capture() as shown:
        print_report(cases, page)
    return record(cases), [shown.get().rstrip("\n")]


if __name__ == "__main__":
    who, size, n_outputs, threads = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    contender(who, 4, n_outputs)()  # what a first call loads is not the contender's
    print(added_mebibytes(contender(who, size, n_outputs)))
