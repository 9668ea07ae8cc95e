"""docs/budgets.md: what each command may cost, and what it did when that was measured."""

from __future__ import annotations

from collections.abc import Sequence

from likewise.benchmarks.growth import COSTS, Budget, Growth, exponent

OPENING = """# What each command costs

For each command: what its cost grows with, the exponent that is promised for time and for memory when that becomes ten
times as much, and the most it may cost at the larger size. `likewise bench growth` measures them on made-up tables of
16 features, each command in a process of its own, and writes this page; **bold** is what missed its promise, an
exponent by more than a half: three sizes tell linear from quadratic, and not much more. A cost that grows little next
to what it is from the start may miss by chance, since each is measured once and comes out a tenth higher or lower the
next time. Starting up, which is mostly the import of torch, is part of the seconds and of the MiB, and not of the
exponents. Training is measured with few epochs: its time is proportional to them.

![Time and memory of each command](growth.svg)

| command | grows with | from, to | time, may | did | most, s | was | memory, may | did | most, MiB | was |
| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
"""

CLOSING = """
What must fit into memory, and what need not:

- `predict` reads items a batch at a time and keeps their ids; so do the steps of training keep the batch at hand.
- `discover` looks at all pairs of at most 4,000 items of the pile, drawn at random, and puts the others in the classes
  it found among them: quadratic up to there, linear beyond.
- MCL and KCL need memory for the outputs of a batch and their gradient, (b, K), and none for its b x b pairs; `fit`
  holds a byte for each two groups of items that answers have joined, at most 1 MB in a batch of 1,000.
- `cluster` keeps what the method needs: k-means the items, the spectral and kernel methods (csp, cosc, lsc, skkm, sklr,
  skms) a matrix of all pairs of items.
- `landscape` needs no more memory for a finer grid, and time in proportion to its points.
- `evaluate` predicts as `predict` does, and keeps one label for each item.
- `data`, `paper` and `demo` cost what their data sets and schedules say; `export` does not depend on the items.
"""


def growth_page(budgets: Sequence[Budget], found: Sequence[Growth], made_on: dict[str, str | int]) -> str:
    """The page; what missed its promise is bold."""
    rows = "".join(_row(budget, growth) for budget, growth in zip(budgets, found, strict=True))
    made = ", ".join(f"{name} {value}" for name, value in made_on.items())
    return f"{OPENING}{rows}{CLOSING}\nMade on: {made}.\n"


def _row(budget: Budget, growth: Growth) -> str:
    sizes = f"{growth.sizes[0]:,}, {growth.sizes[2]:,}"
    cells = [f"`{budget.command}`", budget.against, sizes]
    for name in COSTS:
        costs = getattr(growth, name)
        found, stated, most = exponent(costs), budget.exponents[name], budget.most[name]
        cells += [f"{stated:g}", _bold(f"{found:.2f}", budget.kept(name, costs)[0])]
        cells += [
            f"{most:g}",
            _bold(f"{costs[2]:.1f}" if name == "cpu_seconds" else f"{costs[2]:.0f}", budget.kept(name, costs)[1]),
        ]
    return f"| {' | '.join(cells)} |\n"


def _bold(text: str, kept: bool) -> str:
    return text if kept else f"**{text}**"
