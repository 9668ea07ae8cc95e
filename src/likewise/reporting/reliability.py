"""The reliability diagram: how often pairs are the same, by how sure the model was that they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from likewise.evaluation import Calibration, wilson
from likewise.reporting.drawing import LIGHT, WIDE, Size, frame, legend, new_figure, percent


@dataclass(frozen=True)
class PairKind:
    """The pairs that probabilities are compared with, as the figure calls them."""

    share: str
    number: str
    points: str
    independent: bool  # else an interval would be too narrow, and is not drawn


ANSWERS = PairKind("Share answered “same”", "Number of answers", "held-out answers, with the 95 % interval", True)
KNOWN_PAIRS = PairKind("Share that is the same", "Number of pairs", "held-out pairs", False)


def reliability_diagram(calibration: Calibration, *, size: Size = WIDE, kind: PairKind = ANSWERS) -> Figure:
    """The share of "same" and the number of pairs in each bin; with a 95 % interval where pairs are independent.

    >>> from likewise.evaluation import calibration
    >>> figure = reliability_diagram(calibration([0.1, 0.2, 0.9], [0, 0, 1]))
    >>> len(figure.axes)
    2
    """
    figure, (shares, counts) = new_figure(2, size)
    filled = np.flatnonzero(calibration.count)
    predicted, observed = calibration.predicted[filled], calibration.observed[filled]
    shares.plot([0, 1], [0, 1], linestyle=(0, (4, 3)), color=LIGHT["muted"], linewidth=1.2)
    if kind.independent:
        intervals = [wilson(round(t * n), int(n)) for t, n in zip(observed, calibration.count[filled], strict=True)]
        shares.vlines(predicted, *np.transpose(intervals), color=LIGHT["learner-1"], linewidth=1.6, alpha=0.55)
    shares.plot(predicted, observed, "o", color=LIGHT["learner-1"], markersize=6, zorder=3)
    frame(shares, kind.share, "probability of “same”, by the model")
    counts.bar(
        calibration.edges[:-1],
        calibration.count,
        np.diff(calibration.edges) * 0.86,
        align="edge",
        color=LIGHT["learner-1"],
    )
    for b in filled:
        middle, count = (calibration.edges[b] + calibration.edges[b + 1]) / 2, calibration.count[b]
        counts.annotate(
            short(int(count)),
            (middle, count),
            xytext=(0, 3),
            textcoords="offset points",
            ha="center",
            color=LIGHT["ink"],
            fontsize=8.5,
        )
    frame(counts, kind.number, "probability of “same”, by the model")
    counts.set_yticks([])
    counts.margins(y=0.12)
    for axes in (shares, counts):
        axes.set_xlim(-0.03, 1.03)
        axes.xaxis.set_major_formatter(percent)
    shares.set_ylim(-0.04, 1.04)
    shares.yaxis.set_major_formatter(percent)
    keys = {
        kind.points: Line2D([], [], color=LIGHT["learner-1"], marker="o", markersize=6, linestyle=""),
        "as it should be": Line2D([], [], color=LIGHT["muted"], linewidth=1.2, linestyle=(0, (4, 3))),
    }
    legend(figure, keys)
    return figure


def short(n: int) -> str:
    """A count that fits above a narrow bar.

    >>> short(9_999), short(12_345), short(1_740_000)
    ('9,999', '12k', '1.7M')
    """
    if n < 10_000:
        return f"{n:,}"
    return f"{n / 1e6:.1f}M" if n >= 999_500 else f"{n / 1e3:.0f}k"


def in_words(calibration: Calibration) -> str:
    """Every bin of the diagram that is not empty, for those who cannot see it.

    >>> from likewise.evaluation import calibration
    >>> in_words(calibration([0.02, 0.04, 0.93], [0, 0, 1]))
    '0 to 10 %: 0 % of 2; 90 to 100 %: 100 % of 1'
    """
    return "; ".join(
        f"{100 * calibration.edges[b]:.0f} to {100 * calibration.edges[b + 1]:.0f} %: "
        f"{100 * calibration.observed[b]:.0f} % of {calibration.count[b]:,}"
        for b in np.flatnonzero(calibration.count)
    )
