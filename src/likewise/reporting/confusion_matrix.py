"""The matched confusion matrix: a table that screen readers can read, or a figure where there are many classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from markupsafe import Markup
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from likewise.evaluation import confusion as count_outputs
from likewise.evaluation import match_outputs
from likewise.reporting.drawing import LIGHT, svg

MOST_NUMBERS = 20  # outputs or classes beyond which a confusion matrix shows colours alone
LONGEST_NAME = 3  # letters of a class name that fit above a column; longer names are turned


@dataclass(frozen=True)
class Cell:
    """A count of items, and how deep its colour is."""

    kind: Literal["right", "wrong", "zero"]
    count: int
    depth: float


@dataclass(frozen=True)
class Row:
    """One output, the class that it is matched with, and its items by their true class."""

    word: str  # before the output's name: "output", or nothing
    output: str  # empty where outputs were taught by name and need no other
    name: str
    matched: bool
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Matrix:
    """A confusion matrix as a template shows it: rows of numbers, or a figure where they are many."""

    class_names: Sequence[str]
    rows: Sequence[Row] = ()
    figure: Markup | None = None

    @property
    def turned(self) -> bool:
        """Whether the column names are too long to be written horizontally."""
        return any(len(name) > LONGEST_NAME for name in self.class_names)


def confusion_matrix(
    confusion: np.ndarray,
    matching: np.ndarray,
    class_names: Sequence[str],
    *,
    output_names: Sequence[str] | None = None,
) -> Matrix:
    """Rows are outputs in the order of their classes, unmatched ones last; columns are the true classes.

    Outputs are called by their number, unless they are given names, which may be empty.

    >>> matrix = confusion_matrix(np.array([[0, 5], [4, 1]]), np.array([1, 0]), ("cat", "dog"))
    >>> [(row.output, row.name, [cell.count for cell in row.cells]) for row in matrix.rows]
    [('1', 'cat', [4, 1]), ('0', 'dog', [0, 5])]
    """
    confusion, names = np.asarray(confusion), [str(name) for name in class_names]
    if max(confusion.shape) > MOST_NUMBERS:
        label = f"Confusion matrix of {confusion.shape[0]} outputs and {confusion.shape[1]} classes"
        figure = confusion_figure(confusion, matching, class_names)
        return Matrix(names, figure=svg(figure, label, prefix="confusion"))
    depths = np.sqrt(row_shares(confusion))  # the root shows a single mistake
    rows = []
    for k in output_order(matching):
        own = int(matching[k])
        cells = [
            Cell("zero" if not count else "right" if column == own else "wrong", int(count), float(depth))
            for column, (count, depth) in enumerate(zip(confusion[k], depths[k], strict=True))
        ]
        word, output = ("output", str(k)) if output_names is None else ("", output_names[k])
        rows.append(Row(word, output, class_name(own, class_names, "unmatched"), own >= 0, cells))
    return Matrix(names, rows)


class Comparison(NamedTuple):
    """The classes of labelled items beside their labels."""

    hits: int
    n: int
    matched: bool  # else classes and labels are compared by name
    matrix: Matrix


def compare_with_labels(
    classes: Sequence[str], outputs: np.ndarray, labels: Sequence[str], *, by_name: bool
) -> Comparison:
    """Count the items whose class is their label: by its name, or after the matching in which most items agree.

    Classes and labels that have no name in common are matched in any case.

    >>> comparison = compare_with_labels(("class 0", "class 1"), np.array([0, 0, 1]), ("b", "b", "a"), by_name=False)
    >>> comparison.hits, comparison.n
    (3, 3)
    """
    names, codes = np.unique(np.array([str(label) for label in labels]), return_inverse=True)
    counts = count_outputs(np.asarray(outputs), codes, len(classes), len(names))  # (K, C)
    place = {name: column for column, name in enumerate(names.tolist())}
    by_name = by_name and not place.keys().isdisjoint(classes)
    matching = np.array([place.get(name, -1) for name in classes]) if by_name else match_outputs(counts)
    matched = np.flatnonzero(matching >= 0)
    hits = int(counts[matched, matching[matched]].sum())
    rows = ["" if by_name and own >= 0 else name for own, name in zip(matching, classes, strict=True)]
    return Comparison(
        hits, len(codes), not by_name, confusion_matrix(counts, matching, names.tolist(), output_names=rows)
    )


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


def output_order(matching: np.ndarray) -> list[int]:
    """Outputs in the order of their classes, so that agreement lies on the diagonal; unmatched outputs come last.

    >>> output_order(np.array([2, -1, 0, 1]))
    [2, 3, 0, 1]
    """
    matching = np.asarray(matching)
    return [int(k) for k in np.lexsort((matching, matching < 0))]


def class_name(index: int, class_names: Sequence[str], otherwise: str = "unknown") -> str:
    """The name of a class, or `otherwise` for -1.

    >>> class_name(1, ("cat", "dog")), class_name(-1, ("cat", "dog"), "unmatched")
    ('dog', 'unmatched')
    """
    return str(class_names[index]) if index >= 0 else otherwise
