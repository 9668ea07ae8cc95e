"""Learning curves, of learners beside each other or of one model on answers learned and held out; reliability diagrams.

A reliability diagram shows how often pairs are the same, by how sure the model was that they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from likewise.evaluation import Calibration, wilson
from likewise.reporting.drawing import LIGHT, WIDE, Size, both_sizes, frame, learner_colour, legend, new_figure, percent

History = Sequence[Mapping[str, object]]  # one row per epoch: numbers by name, and perhaps the stage in words
EDGE = 0.005  # beyond 0 and 100 %, so that a line there is drawn whole

STAGES = dict.fromkeys(("unlabelled", "stage 2"), "unlabelled items join")  # what the rule at its start says


@dataclass(frozen=True, eq=False)
class Curve:
    """One line in a panel."""

    points: np.ndarray  # (epochs, 2)
    colour: str  # its name in the palette
    style: Literal["-", ":"] = "-"

    @property
    def width(self) -> float:
        return 2.2 if self.style == "-" else 1.5

    @property
    def key(self) -> Line2D:
        """The line as it stands in a legend."""
        return Line2D([], [], color=LIGHT[self.colour], linewidth=self.width, linestyle=self.style)


def learning_curve(histories: Mapping[str, History], *, size: Size = WIDE) -> Figure:
    """Accuracy and loss per epoch, with one colour per learner; a panel without any figure is left out.

    The panels stand side by side in a figure that is wider than high, else one above the other.

    >>> figure = learning_curve({"MCL": [{"epoch": 1, "loss": 0.3, "test_accuracy": 0.5}]})
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Accuracy', 'Training loss']
    """
    colours = {name: learner_colour(position) for position, name in enumerate(histories)}
    accuracy, loss = [], []
    for name, history in histories.items():
        accuracy.append(Curve(_points(history, "test_accuracy"), colours[name]))
        accuracy.append(Curve(_points(history, "accuracy"), colours[name], ":"))
        loss.append(Curve(_points(history, "loss"), colours[name]))
    figure = _panels({"Accuracy": accuracy, "Training loss": loss}, size)
    if figure.axes:
        keys = {name: Line2D([], [], color=LIGHT[colour], linewidth=3) for name, colour in colours.items()}
        if any(curve.style == ":" and len(curve.points) for curve in accuracy):
            keys["dotted: on training items"] = Line2D([], [], color=LIGHT["muted"], linewidth=1.5, linestyle=":")
        legend(figure, keys)
    return figure


def answers_curve(history: History, *, size: Size = WIDE, held_out: str = "answers") -> Figure:
    """Loss on the answers learned and on those held out, and accuracy on the latter; a rule where the stage changes.

    The columns are loss, held_out_loss, held_out_accuracy and stage; one that is missing is not drawn. `held_out` is
    the legend's word for what was held out, which may be labels as well.

    >>> figure = answers_curve([{"epoch": 1, "loss": 0.3, "held_out_accuracy": 0.5, "stage": "answers"}])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Held-out accuracy', 'Training loss']
    """
    measured = Curve(_points(history, "held_out_loss"), "learner-1")
    loss = _points(history, "loss")
    training = Curve(loss, "muted", ":") if len(measured.points) else Curve(loss, "learner-1")
    accuracy = Curve(_points(history, "held_out_accuracy"), "learner-1")
    both = bool(len(measured.points) and len(loss))
    losses = "Loss" if both else "Held-out loss" if len(measured.points) else "Training loss"
    figure = _panels({"Held-out accuracy": [accuracy], losses: [measured, training]}, size)
    changes = stage_changes(history)
    for axes in figure.axes:
        axes.margins(y=0.14 if changes else 0.05)  # above and below the lines, where the stages are named
        for epoch, stage in changes:
            _rule(axes, epoch, STAGES.get(stage, stage), low="accuracy" in axes.get_title(loc="left"))
    if both:
        legend(figure, {f"on held-out {held_out}": measured.key, "while training": training.key})
    return figure


def stages_curve(histories: Mapping[str, History], *, size: Size = WIDE) -> Figure:
    """The training loss of each stage in a panel of its own, because the losses of different tasks cannot be compared.

    >>> figure = stages_curve({"Similarity": [{"epoch": 1, "loss": 0.3}], "Classifier": [{"epoch": 1, "loss": 2.0}]})
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Similarity: training loss', 'Classifier: training loss']
    """
    panels = {f"{name}: training loss": [Curve(_points(rows, "loss"), "learner-1")] for name, rows in histories.items()}
    return _panels(panels, size)


class CurvesSection(NamedTuple):
    """The section of a page on how a model learned: a sentence or two, and a figure."""

    about: str
    figure: Markup


def learners_section(histories: Mapping[str, History]) -> CurvesSection:
    """Learners beside each other; the figure is empty where no history has anything to draw."""
    about = "Accuracy and training loss after each epoch."
    if len(histories) > 1:
        about += " Losses of different kinds compare in their course, not in their height."
    label = "Accuracy and training loss by epoch: " + ", ".join(histories)
    return CurvesSection(about, both_sizes(lambda size: learning_curve(histories, size=size), label, prefix="curve"))


def held_out_section(history: History, *, held_out: str = "answers", stages: str = "pairs") -> CurvesSection:
    """One model, on what was held out; its stages learn from different pairs, or items."""
    shown = " and ".join(axes.get_title(loc="left").lower() for axes in answers_curve(history).axes)
    about = f"{shown.capitalize()} after each epoch."
    if stage_changes(history):
        about += f" A dashed line marks the start of a stage; each stage's training loss is over different {stages}."
    figure = both_sizes(
        lambda size: answers_curve(history, size=size, held_out=held_out), f"{shown} by epoch", prefix="curve"
    )
    return CurvesSection(about, figure)


def stages_section(histories: Mapping[str, History]) -> CurvesSection:
    """Several stages, each with a loss of its own."""
    about = "The training loss after each epoch."
    figure = both_sizes(lambda size: stages_curve(histories, size=size), "Training loss by epoch", prefix="curve")
    return CurvesSection(about, figure)


def stage_changes(history: History) -> list[tuple[float, str]]:
    """Where a stage begins, half an epoch before its first, and its name; the stage at the start is not a change.

    A stage may be named or numbered.

    >>> stage_changes([{"stage": "answers"}, {"stage": "answers"}, {"stage": "unlabelled"}])
    [(2.5, 'unlabelled')]
    """
    stages = [(epoch, _stage_name(row["stage"])) for epoch, row in _numbered(history) if row.get("stage")]
    return [((before + epoch) / 2, name) for (before, old), (epoch, name) in pairwise(stages) if name != old]


def _stage_name(stage: object) -> str:
    return f"stage {stage:g}" if isinstance(stage, int | float) else str(stage)


def _panels(contents: Mapping[str, Sequence[Curve]], size: Size) -> Figure:
    """A panel for each title that has a point to show; accuracies are in percent."""
    shown = {title: curves for title, curves in contents.items() if any(len(curve.points) for curve in curves)}
    figure, panels = new_figure(len(shown), size)
    for axes, (title, curves) in zip(panels, shown.items(), strict=True):
        for position, curve in enumerate(curves):
            axes.plot(
                *curve.points.T,
                curve.style,
                color=LIGHT[curve.colour],
                linewidth=curve.width,
                marker="o" if len(curve.points) == 1 else "",
                zorder=3 - 0.01 * position,  # the first lies on top
            )
        frame(axes, title, "epoch")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
        if "accuracy" in title.lower():
            axes.yaxis.set_major_formatter(percent)
            low, high = axes.get_ylim()
            axes.set_ylim(max(low, -EDGE), min(high, 1 + EDGE))  # no tick lies beyond 0 and 100 %
    return figure


def _rule(axes: Axes, epoch: float, name: str, *, low: bool) -> None:
    """A vertical rule with its name beside it: low where the lines rise, high where they fall."""
    axes.axvline(epoch, color=LIGHT["muted"], linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    left, right = axes.get_xlim()
    before = epoch > left + 0.55 * (right - left)  # there is more room on its left
    axes.annotate(
        name,
        (epoch, 0 if low else 1),
        xycoords=("data", "axes fraction"),
        xytext=(-5 if before else 5, 5 if low else -5),
        textcoords="offset points",
        ha="right" if before else "left",
        va="bottom" if low else "top",
        color=LIGHT["muted"],
        fontsize=9,
        parse_math=False,
        in_layout=False,
    )


def _points(history: History, column: str) -> np.ndarray:
    rows = [(epoch, row[column]) for epoch, row in _numbered(history) if isinstance(row.get(column), int | float)]
    points = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return points[np.isfinite(points).all(axis=1)]  # (epochs, 2)


def _numbered(history: History) -> Iterator[tuple[float, Mapping[str, object]]]:
    """Rows with their epoch, or with their number where epochs do not rise: a new stage may have started over."""
    rows = np.arange(1.0, len(history) + 1)
    epochs = np.array([row.get("epoch", i) for i, row in zip(rows, history, strict=True)], dtype=np.float64)
    return zip((epochs if (np.diff(epochs) > 0).all() else rows).tolist(), history, strict=True)


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
