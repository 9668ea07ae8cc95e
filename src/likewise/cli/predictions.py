"""Predictions as rows of id, class and probability, or of all probabilities, written a table at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from likewise.datasets import Items

DIGITS = 6  # of a probability in a CSV file


def prediction_rows(
    items: Items,
    classes: NDArray[Any],
    probabilities: NDArray[np.float32],
    first_row: int = 0,
    further: dict[str, NDArray[np.float32]] | None = None,
) -> Any:
    """An Arrow table: the class of each item (n,) and its probability (n,); without ids, items have row numbers.

    `further` columns (n,) come last.
    """
    import pyarrow as pa

    ids = pa.array(items.ids or range(first_row, first_row + len(items)))
    return pa.table({"id": ids, "class": pa.array(classes.tolist()), "probability": probabilities, **(further or {})})


def write_csv(file: BinaryIO, tables: Iterator[Any]) -> int:
    """Write the rows, and say how many they are."""
    text, n = io.TextIOWrapper(file, "utf-8", newline=""), 0
    try:
        rows = csv.writer(text, lineterminator="\n")
        for table in tables:
            if not n:
                rows.writerow(table.column_names)
            ids, classes, *probabilities = (column.to_pylist() for column in table.columns)
            rounded = ([round(p, DIGITS) for p in column] for column in probabilities)
            rows.writerows(zip(ids, classes, *rounded, strict=True))
            n += len(table)
    finally:
        text.detach()
    return n


def write_parquet(file: BinaryIO, tables: Iterator[Any]) -> int:
    """The same with types."""
    import pyarrow.parquet

    first, n = next(tables), 0
    with pyarrow.parquet.ParquetWriter(file, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
            n += len(table)
    return n
