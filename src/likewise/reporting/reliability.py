"""The reliability diagram: how often pairs were answered "same", by how sure the model was that they are."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from likewise.evaluation import Calibration, wilson
from likewise.reporting.drawing import WIDE, Size, frame, legend, new_figure, percent
from likewise.reporting.style import LIGHT


def reliability_diagram(found: Calibration, *, size: Size = WIDE) -> Figure:
    """The share of answers "same" in each bin with its 95 % interval, and the number of answers in each bin."""
    figure, (shares, counts) = new_figure(2, size)
    filled = np.flatnonzero(found.count)
    predicted, observed = found.predicted[filled], found.observed[filled]
    intervals = [wilson(round(t * n), int(n)) for t, n in zip(observed, found.count[filled], strict=True)]
    shares.plot([0, 1], [0, 1], linestyle=(0, (4, 3)), color=LIGHT["muted"], linewidth=1.2)
    shares.vlines(predicted, *np.transpose(intervals), color=LIGHT["learner-1"], linewidth=1.6, alpha=0.55)
    shares.plot(predicted, observed, "o", color=LIGHT["learner-1"], markersize=6, zorder=3)
    frame(shares, "Share answered “same”", "probability of “same”, by the model")
    counts.bar(found.edges[:-1], found.count, np.diff(found.edges) * 0.86, align="edge", color=LIGHT["learner-1"])
    for b in filled:
        middle, count = (found.edges[b] + found.edges[b + 1]) / 2, found.count[b]
        counts.annotate(
            f"{count:,}",
            (middle, count),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=LIGHT["ink"],
            fontsize=8.5,
        )
    frame(counts, "Number of answers", "probability of “same”, by the model")
    counts.set_yticks([])
    counts.margins(y=0.12)
    for axes in (shares, counts):
        axes.set_xlim(-0.03, 1.03)
        axes.xaxis.set_major_formatter(percent)
    shares.set_ylim(-0.04, 1.04)
    shares.yaxis.set_major_formatter(percent)
    keys = {
        "held-out answers, with the 95 % interval": Line2D(
            [], [], color=LIGHT["learner-1"], marker="o", markersize=6, linestyle=""
        ),
        "as it should be": Line2D([], [], color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3))),
    }
    legend(figure, keys)
    return figure


def in_words(found: Calibration) -> str:
    """Every bin of the diagram that holds an answer, for those who cannot see it.

    >>> from likewise.evaluation import calibration
    >>> in_words(calibration([0.02, 0.04, 0.93], [0, 0, 1]))
    '0 to 10 %: 0 % of 2; 90 to 100 %: 100 % of 1'
    """
    return "; ".join(
        f"{100 * found.edges[b]:.0f} to {100 * found.edges[b + 1]:.0f} %: "
        f"{100 * found.observed[b]:.0f} % of {found.count[b]:,}"
        for b in np.flatnonzero(found.count)
    )
