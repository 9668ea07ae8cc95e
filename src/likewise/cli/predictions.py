"""Predictions as rows of id, class and probability, written to a CSV or Parquet file a table at a time."""

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


def prediction_rows(items: Items, classes: NDArray[Any], probabilities: NDArray[np.float32], first_row: int = 0) -> Any:
    """An Arrow table: the class of each item (n,) and its probability (n,); without ids, items have row numbers."""
    import pyarrow as pa

    ids = pa.array(items.ids or range(first_row, first_row + len(items)))
    return pa.table({"id": ids, "class": pa.array(classes.tolist()), "probability": probabilities})


def write_csv(file: BinaryIO, tables: Iterator[Any]) -> int:
    """Write the rows, and say how many they are."""
    text, n = io.TextIOWrapper(file, "utf-8", newline=""), 0
    try:
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("id", "class", "probability"))
        for table in tables:
            ids, classes, probabilities = (column.to_pylist() for column in table.columns)
            rows.writerows(zip(ids, classes, (round(p, DIGITS) for p in probabilities), strict=True))
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
