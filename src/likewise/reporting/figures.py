"""Figures: learning curves and the matched confusion matrix, as matplotlib figures and as SVG for a page."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Mapping, Sequence

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from likewise.reporting.learner import class_name, output_order
from likewise.reporting.style import LIGHT, learner_colour

History = Sequence[Mapping[str, float]]

MOST_NUMBERS = 20  # outputs or classes beyond which a confusion matrix shows colours alone


def learning_curve(histories: Mapping[str, History], *, size: tuple[float, float] = (9.2, 3.5)) -> Figure:
    """Accuracy and loss by epoch, one colour a learner; a panel without any figure is left out.

    The panels stand side by side in a figure that is wider than high, else one above the other.

    >>> figure = learning_curve({"MCL": [{"epoch": 1, "loss": 0.3, "test_accuracy": 0.5}]})
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['Accuracy', 'Training loss']
    """
    panels: list[tuple[str, dict[str, str]]] = [
        ("Accuracy", {"test_accuracy": "-", "accuracy": ":"}),
        ("Training loss", {"loss": "-"}),
    ]
    panels = [panel for panel in panels if any(_any(histories, column) for column in panel[1])]
    layout = ConstrainedLayoutEngine(wspace=0.08, hspace=0.08, w_pad=0.05, h_pad=0.08)
    figure = Figure(figsize=size, layout=layout, facecolor=LIGHT["card"])
    if not panels:
        return figure
    across = size[0] > size[1]
    grid = figure.subplots(*((1, len(panels)) if across else (len(panels), 1)), squeeze=False)
    for axes, (title, columns) in zip(grid.flat, panels, strict=True):
        for position, history in enumerate(histories.values()):
            for column, line in columns.items():
                points = _points(history, column)
                axes.plot(
                    *points.T,
                    line,
                    color=LIGHT[learner_colour(position)],
                    linewidth=2.2 if line == "-" else 1.5,
                    marker="o" if len(points) == 1 else "",
                    zorder=3 - 0.01 * position,  # the first learner lies on top
                )
        _frame(axes, title)
    _legend(figure, list(histories), dotted=_any(histories, "accuracy"), across=across)
    return figure


def confusion_figure(confusion: np.ndarray, matching: np.ndarray, class_names: Sequence[str]) -> Figure:
    """The matched confusion matrix: rows outputs in the order of their classes, unmatched ones last; columns classes.

    Blue cells are right and orange ones wrong; the depth is the root of the cell's share of its row, so that a single
    mistake can be seen. Counts are written where there is room for them.

    >>> figure = confusion_figure(np.array([[0, 5], [4, 1]]), np.array([1, 0]), ("cat", "dog"))
    >>> [text.get_text() for text in figure.axes[0].texts]
    ['4', '1', '0', '5']
    """
    confusion = np.asarray(confusion)
    order = output_order(matching)
    n_outputs, n_classes = confusion.shape
    cell = float(np.clip(9.0 / max(n_outputs, n_classes, 1), 0.09, 0.5))  # inches
    figure = Figure(
        figsize=(cell * n_classes + 2.0, cell * n_outputs + 1.4), layout="constrained", facecolor=LIGHT["card"]
    )
    axes = figure.subplots()
    shares = row_shares(confusion)[order]  # (K, C)
    right = np.asarray(matching)[order][:, None] == np.arange(n_classes)  # (K, C)
    colours = np.where(right[..., None], to_rgb(LIGHT["right"]), to_rgb(LIGHT["wrong"]))  # (K, C, 3)
    alpha = np.sqrt(shares)[..., None] * np.where(right, 0.55, 0.65)[..., None]
    axes.imshow(np.concatenate([colours, alpha], axis=-1), interpolation="none", aspect="equal")
    size = float(np.clip(cell * 24, 4, 10))
    if max(n_outputs, n_classes) <= MOST_NUMBERS:
        for row, k in enumerate(order):
            for column, count in enumerate(confusion[k]):
                ink = LIGHT["ink" if count else "muted"]
                axes.text(
                    column,
                    row,
                    str(int(count)),
                    ha="center",
                    va="center",
                    color=ink,
                    fontsize=size,
                    alpha=1 if count else 0.6,
                )
    names = [class_name(int(matching[k]), class_names, "unmatched") for k in order]
    axes.set_yticks(
        range(n_outputs),
        [f"{k} \N{RIGHTWARDS ARROW} {name}" for k, name in zip(order, names, strict=True)],
        parse_math=False,
    )
    long = any(len(str(name)) > 3 for name in class_names)
    axes.set_xticks(range(n_classes), [str(name) for name in class_names], rotation=90 if long else 0, parse_math=False)
    axes.set_xlabel("true class", color=LIGHT["muted"], fontsize=9.5)
    axes.set_ylabel("output \N{RIGHTWARDS ARROW} matched class", color=LIGHT["muted"], fontsize=9.5)
    axes.xaxis.set_label_position("top")
    axes.tick_params(length=0, labelsize=size, labelcolor=LIGHT["ink"], top=True, labeltop=True, labelbottom=False)
    axes.spines[:].set_color(LIGHT["rule"])
    return figure


def row_shares(confusion: np.ndarray) -> np.ndarray:
    """Each count as a share of its row; a row without items stays zero.

    >>> row_shares(np.array([[3, 1], [0, 0]])).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    counts = np.asarray(confusion)
    shares: np.ndarray = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares


def svg(figure: Figure, label: str, *, prefix: str, classes: str = "drawing") -> str:
    """The figure as an SVG element for an HTML page: the same bytes each time, in the page's own colours and font.

    Every colour of the palette becomes the page's variable of that name, so that the figure follows light and dark.
    `prefix` keeps the ids of several figures on one page apart; `label` is what a screen reader says.
    """
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's browser has its own fonts
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    drawing = stream.getvalue()
    body = drawing[drawing.index(">", drawing.index("<svg")) + 1 :].rstrip()
    body = re.sub(r"<style\b.*?</style>\s*", "", body, flags=re.DOTALL)  # it would reach the whole page
    body = re.sub(r"<[^>]*>", lambda tag: _for_page(tag[0], prefix), body)
    width, height = 72 * figure.get_size_inches()
    box = f"0 0 {width:g} {height:g}"
    return f'<svg class="{classes}" role="img" aria-label="{html.escape(label)}" viewBox="{box}">{body}'


def _for_page(tag: str, prefix: str) -> str:
    """A tag of matplotlib's SVG with ids of its own, the page's font and the page's colours."""
    tag = tag.replace(' id="', f' id="{prefix}-').replace("url(#", f"url(#{prefix}-").replace("xlink:href", "href")
    tag = tag.replace('href="#', f'href="#{prefix}-')
    tag = re.sub(r"font-family: [^;\"]*; ", "", tag)
    for name, colour in LIGHT.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag


def _points(history: History, column: str) -> np.ndarray:
    rows = [(row.get("epoch", i + 1), row[column]) for i, row in enumerate(history) if column in row]
    points = np.array(rows, dtype=np.float64).reshape(-1, 2)
    return points[np.isfinite(points).all(axis=1)]  # (epochs, 2)


def _any(histories: Mapping[str, History], column: str) -> bool:
    return any(len(_points(history, column)) for history in histories.values())


def _frame(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", color=LIGHT["ink"], fontsize=10.5, fontweight="bold")
    axes.set_xlabel("epoch", color=LIGHT["muted"], fontsize=9.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    if title == "Accuracy":
        axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axes.set_facecolor("none")
    axes.tick_params(length=0, labelsize=9.5, labelcolor=LIGHT["muted"])
    axes.grid(axis="y", color=LIGHT["rule"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["rule"])


def _legend(figure: Figure, names: Sequence[str], *, dotted: bool, across: bool) -> None:
    keys = [Line2D([], [], color=LIGHT[learner_colour(i)], linewidth=3) for i in range(len(names))]
    if dotted:
        keys.append(Line2D([], [], color=LIGHT["muted"], linewidth=1.5, linestyle=":"))
        names = [*names, "dotted: on training items"]
    legend = figure.legend(
        keys, ["name"] * len(keys), loc="outside upper left", ncols=len(keys) if across else 1, frameon=False
    )
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=name, parse_math=False, fontsize=9.5, color=LIGHT["ink"])
