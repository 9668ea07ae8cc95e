"""The figure of what commands cost: time and memory against what grows, on logarithmic axes, a line a command."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator

from likewise.reporting.drawing import frame, legend, new_figure, svg_file
from likewise.reporting.palette import LIGHT, learner_colour

SIZE = (9.2, 6.2)
DASHES = ("-", "--", ":")  # once the colours are used up


class Line(NamedTuple):
    """One command's costs at growing sizes."""

    name: str
    sizes: Sequence[int]
    cpu_seconds: Sequence[float]
    mebibytes: Sequence[float]


def growth_figure(lines: Sequence[Line]) -> bytes:
    """An SVG file; sizes are in units of the first, so that all lines begin at 1 and slopes can be compared."""
    figure, (time, memory) = new_figure(2, SIZE)
    keys = {}
    for place, line in enumerate(lines):
        look = {"color": LIGHT[learner_colour(place)], "linestyle": DASHES[place // 5 % 3], "linewidth": 1.8}
        times_as_much = [size / line.sizes[0] for size in line.sizes]
        time.plot(times_as_much, line.cpu_seconds, marker="o", markersize=4, **look)  # type: ignore[arg-type]
        memory.plot(times_as_much, line.mebibytes, marker="o", markersize=4, **look)  # type: ignore[arg-type]
        keys[line.name] = Line2D([], [], **look)  # type: ignore[arg-type]
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
