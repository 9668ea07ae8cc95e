"""The matched confusion matrix as an HTML table: numbers that can be read, selected and heard."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from likewise.reporting.figures import MOST_NUMBERS, confusion_figure, row_shares, svg
from likewise.reporting.learner import class_name, output_order

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


def _cell(count: int, share: float, *, right: bool) -> str:
    kind = "right" if right and count else "wrong" if count else "zero"
    depth = f' style="--share:{share:.3f}"' if count else ""
    return f'<td class="{kind}"{depth}>{count}</td>'


def _row_name(output: int, own: int, class_names: Sequence[str]) -> str:
    name = escape(class_name(own, class_names, "unmatched"))
    return f'<span><span class="word">output</span> {output} &rarr;</span> {name}'
