"""docs/budgets.md: what each command may cost, and what it did cost: `python -m benchmarks.budgets`.

Runs every command at three sizes, which takes about half an hour, and writes growth.json, the page and its figure. With
--command only that command is measured, and no page is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.growth import COSTS, Budget, Growth, exponent, record, report
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from benchmarks import growth
from likewise.reporting.drawing import LIGHT, frame, learner_colour, legend, new_figure, svg_file
from likewise.storage.atomic_files import write_atomically
from likewise.storage.records import machine, write_json

SIZE = (9.2, 6.2)
DASHES = ("-", "--", ":")  # once the colours are used up

OPENING = """# What each command costs

For each command: what its cost grows with, the exponent that is promised for time and for memory when that becomes ten
times as much, and the most it may cost at the larger size. `python -m benchmarks.budgets` measures them on synthetic
tables of 16 features, each command in a process of its own, and writes this page; **bold** is what missed its promise,
an exponent by more than a half: three sizes tell linear from quadratic, and not much more. A cost that grows little
next to what it is from the start may miss by chance, since each is measured once and comes out a tenth higher or lower
the next time. Starting up, which is mostly the import of torch, is part of the seconds and of the MiB, and not of the
exponents. Training is measured with few epochs: its time is proportional to them.

![Time and memory of each command](growth.svg)

| command | grows with | from, to | time, may | did | most, s | was | memory, may | did | most, MiB | was |
| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |
"""

CLOSING = """
What must fit into memory, and what need not:

- `predict` reads items a batch at a time and keeps their ids; so do the steps of training keep the current batch.
- `discover` looks at all pairs of at most 4,000 items of the pile, drawn at random, and puts the others in the classes
  it found among them: quadratic up to there, linear beyond.
- MCL and KCL need memory for the outputs of a batch and their gradient, (b, K), and none for its b x b pairs; `fit`
  holds a byte for each two groups of items that answers have joined, at most 1 MB in a batch of 1,000.
- `cluster` keeps what the method needs: k-means the items, the spectral and kernel methods (csp, cosc, lsc, skkm, sklr,
  skms) a matrix of all pairs of items.
- `landscape` needs no more memory for a finer grid, and time in proportion to its points.
- `evaluate` predicts as `predict` does, and keeps one label for each item.
- `encode` computes a batch at a time and keeps its features on disk; it costs what its encoder does for each item.
- `data`, `paper` and `demo` cost what their data sets and schedules say; `export` does not depend on the items.
- `label` reads the items as `fit` does, then answers one press at a time; `answers` reads and writes each answer once.
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


def growth_figure(budgets: Sequence[Budget], found: Sequence[Growth]) -> bytes:
    """An SVG file; sizes are in units of the first, so that all lines begin at 1 and slopes can be compared."""
    figure, (time, memory) = new_figure(2, SIZE)
    keys = {}
    for place, (budget, line) in enumerate(zip(budgets, found, strict=True)):
        look = {"color": LIGHT[learner_colour(place)], "linestyle": DASHES[place // 5 % 3], "linewidth": 1.8}
        times_as_much = [size / line.sizes[0] for size in line.sizes]
        time.plot(times_as_much, line.cpu_seconds, marker="o", markersize=4, **look)
        memory.plot(times_as_much, line.mebibytes, marker="o", markersize=4, **look)
        keys[budget.name] = Line2D([], [], **look)
    for axes, title in ((time, "Seconds of CPU"), (memory, "MiB, the most at any moment")):
        frame(axes, title, "times as much")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks([1, 3.16, 10], ["1", "3.2", "10"])
        axes.minorticks_off()
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    legend(figure, keys, columns=3)
    return svg_file(figure)


def main(arguments: Sequence[str] | None = None) -> None:
    commands = sorted({budget.command.split()[0] for budget in growth.BUDGETS})
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/growth.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/budgets.md"), help="growth.svg is written beside it.")
    parser.add_argument("--command", action="append", choices=commands, help="Once or several times. Default: all.")
    options = parser.parse_args(arguments)
    budgets = [b for b in growth.BUDGETS if not options.command or b.command.split()[0] in options.command]
    found = []
    for budget, grown in zip(budgets, growth.measure(budgets), strict=True):
        found.append(grown)
        print(*report(budget, grown), sep="\n", flush=True)
    write_json(options.out, record(budgets, found))
    if not options.command:
        write_atomically(options.page.parent / "growth.svg", growth_figure(budgets, found))
        write_atomically(options.page, growth_page(budgets, found, machine()))


if __name__ == "__main__":
    main()
