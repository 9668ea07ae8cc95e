"""The matched confusion matrix: a table of numbers that can be read and heard, or a figure where they are many."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from likewise.reporting.drawing import svg
from likewise.reporting.learner import class_name, output_order
from likewise.reporting.style import LIGHT

MOST_NUMBERS = 20  # outputs or classes beyond which a confusion matrix shows colours alone
LONGEST_NAME = 3  # letters of a class name that fit above a column; longer names are turned


def confusion_table(confusion: np.ndarray, matching: np.ndarray, class_names: Sequence[str]) -> str:
    """Rows are outputs in the order of their classes, unmatched ones last; columns are the true classes.

    >>> "<td" in confusion_table(np.array([[0, 5], [4, 1]]), np.array([1, 0]), ("cat", "dog"))
    True
    """
    confusion, shares = np.asarray(confusion), np.sqrt(row_shares(confusion))  # the root shows a single mistake
    turned = ' class="long"' if any(len(str(name)) > LONGEST_NAME for name in class_names) else ""
    head = "".join(f'<th scope="col"{turned}>{escape(str(name))}</th>' for name in class_names)
    rows = []
    for k in output_order(matching):
        own = int(matching[k])
        cells = "".join(
            _cell(int(count), share, right=column == own)
            for column, (count, share) in enumerate(zip(confusion[k], shares[k], strict=True))
        )
        mark = "" if own >= 0 else ' class="unmatched"'
        rows.append(f'<tr{mark}><th scope="row">{_row_name(k, own, class_names)}</th>{cells}</tr>')
    return (
        '<table class="matrix"><thead>'
        f'<tr><td></td><th class="axis" scope="colgroup" colspan="{len(class_names)}">true class</th></tr>'
        f'<tr><th class="axis" scope="col">found</th>{head}</tr></thead>\n'
        "<tbody>" + "\n".join(rows) + "</tbody></table>"
    )


def confusion_matrix(confusion: np.ndarray, matching: np.ndarray, class_names: Sequence[str]) -> str:
    """The table where its numbers can be read, else a picture of it."""
    if max(confusion.shape) <= MOST_NUMBERS:
        return confusion_table(confusion, matching, class_names)
    label = f"Confusion matrix of {confusion.shape[0]} outputs and {confusion.shape[1]} classes"
    return svg(confusion_figure(confusion, matching, class_names), label, prefix="confusion")


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


def _cell(count: int, share: float, *, right: bool) -> str:
    kind = "right" if right and count else "wrong" if count else "zero"
    depth = f' style="--share:{share:.3f}"' if count else ""
    return f'<td class="{kind}"{depth}>{count}</td>'


def _row_name(output: int, own: int, class_names: Sequence[str]) -> str:
    name = escape(class_name(own, class_names, "unmatched"))
    return f'<span><span class="word">output</span> {output} &rarr;</span> {name}'
