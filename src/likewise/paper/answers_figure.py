"""The figures of RESULTS.md: accuracy against the number of random answers, one SVG file a data set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from likewise.paper.answers_record import AnswersRecord
from likewise.paper.answers_section import figure_path, has_figure, shown_records, sound
from likewise.reporting.drawing import frame, legend, new_figure, percent, svg_file
from likewise.reporting.palette import LIGHT

SIZE = (7.6, 4.2)
LINES: tuple[tuple[str, str, str, Callable[[AnswersRecord], float | None]], ...] = (
    # its name, its colour, for those who see no colours its mark, and the figure of a record
    ("twin with labels", "learner-2", "^", lambda record: record.twin_accuracy),
    ("with unlabelled pairs", "learner-1", "o", lambda record: record.accuracy),
    ("answers only", "learner-4", "s", lambda record: record.first_accuracy),
    ("k-means, no answers", "learner-3", "D", lambda record: record.rivals.get("k-means", {}).get("accuracy")),
)


def answers_figures(results: Path) -> dict[str, bytes]:
    """The SVG files that the section refers to, by their paths from the page; the same records give the same bytes."""
    figures = {}
    for dataset, group in groupby(filter(sound, shown_records(results)), key=lambda record: record.dataset):
        made = list(group)
        if has_figure(made):
            figures[figure_path(dataset)] = svg_file(answers_figure(made, dataset))
    return figures


def answers_figure(records: Sequence[AnswersRecord], dataset: str) -> Figure:
    """A line for each learner through its means, and a band from the worst seed to the best."""
    figure, (axes,) = new_figure(1, SIZE)
    numbers = sorted({record.answers for record in records})
    keys = {}
    for name, colour, mark, figure_of in LINES:
        made = [(record.answers, share / 100) for record in records if (share := figure_of(record)) is not None]
        if not made:
            continue
        places = sorted({answers for answers, _ in made})
        shares = [[share for answers, share in made if answers == place] for place in places]
        low, middle, high = (np.array([of(seeds) for seeds in shares]) for of in (np.min, np.mean, np.max))
        axes.plot(places, middle, f"{mark}-", color=LIGHT[colour], linewidth=2.2, markersize=5.5)
        axes.fill_between(places, low, high, color=LIGHT[colour], alpha=0.15, linewidth=0)
        keys[name] = Line2D([], [], color=LIGHT[colour], linewidth=2.2, marker=mark, markersize=5.5)
    frame(axes, f"Accuracy on the test set of {dataset}", "random answers, or labels")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(numbers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    axes.yaxis.set_major_formatter(percent)
    legend(figure, keys)
    return figure
