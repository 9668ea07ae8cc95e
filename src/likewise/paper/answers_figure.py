"""The figures of RESULTS.md: accuracy against the number of random answers, one SVG file a data set."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from likewise.paper.answers_record import AnswersRecord
from likewise.paper.answers_section import figure_path, has_figure, sound
from likewise.paper.answers_trials import answers_recipes
from likewise.paper.records import read_records
from likewise.reporting.drawing import frame, legend, new_figure, percent, svg_file
from likewise.reporting.style import LIGHT

SIZE = (7.6, 4.2)
LINES = {  # figure of a record -> its name, its colour and, for those who see no colours, its mark
    "twin_accuracy": ("twin with as many labels, or all", "learner-2", "^"),
    "accuracy": ("answers and unlabelled pairs", "learner-1", "o"),
    "first_accuracy": ("answers only", "learner-4", "s"),
}


def answers_figures(results: Path) -> dict[str, bytes]:
    """The SVG files that the section refers to, by their paths from the page; the same records give the same bytes."""
    recipes = answers_recipes()
    records = [record for record in read_records(results, "answers", AnswersRecord) if sound(record)]
    figures = {}
    for dataset, group in groupby(records, key=lambda record: record.dataset):  # read in the order of their names
        made = list(group)
        if has_figure(made, recipes[dataset]):
            as_recipe = [record for record in made if record.epochs == recipes[dataset].epochs]
            figures[figure_path(dataset)] = svg_file(answers_figure(as_recipe, dataset))
    return figures


def answers_figure(records: Sequence[AnswersRecord], dataset: str) -> Figure:
    """A line for each learner through its means, and a band from the worst seed to the best."""
    figure, (axes,) = new_figure(1, SIZE)
    numbers = sorted({record.answers for record in records})
    keys = {}
    for column, (name, colour, mark) in LINES.items():
        shares = [[getattr(r, column) / 100 for r in records if r.answers == number] for number in numbers]
        low, middle, high = (np.array([of(seeds) for seeds in shares]) for of in (np.min, np.mean, np.max))
        axes.plot(numbers, middle, f"{mark}-", color=LIGHT[colour], linewidth=2.2, markersize=5.5)
        axes.fill_between(numbers, low, high, color=LIGHT[colour], alpha=0.15, linewidth=0)
        keys[name] = Line2D([], [], color=LIGHT[colour], linewidth=2.2, marker=mark, markersize=5.5)
    frame(axes, f"Accuracy on the test set of {dataset}", "random answers, or labels")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(numbers))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda number, _: f"{number:,.0f}")
    axes.yaxis.set_major_formatter(percent)
    legend(figure, keys)
    return figure
