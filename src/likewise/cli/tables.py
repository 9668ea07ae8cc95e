"""Arrow tables as a .csv or .parquet file, written a table at a time."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, BinaryIO

DIGITS = 6  # of a probability in a CSV file


def rounded(value: float) -> object:
    """A probability as it stands in a CSV file."""
    return round(value, DIGITS)


def write_csv(file: BinaryIO, tables: Iterator[Any], number: Callable[[float], object] = rounded) -> int:
    """Write the rows, floats as `number` has them, and say how many they are.

    >>> import pyarrow as pa
    >>> file = io.BytesIO()
    >>> write_csv(file, iter([pa.table({"id": ["a"], "probability": [1 / 3]})]))
    1
    >>> file.getvalue()
    b'id,probability\\na,0.333333\\n'
    """
    from pyarrow.types import is_floating

    text, n = io.TextIOWrapper(file, "utf-8", newline=""), 0
    try:
        rows = csv.writer(text, lineterminator="\n")
        for table in tables:
            if not n:
                rows.writerow(table.column_names)
            columns = ((column.to_pylist(), is_floating(column.type)) for column in table.columns)
            shown = (map(number, values) if are_numbers else values for values, are_numbers in columns)
            rows.writerows(zip(*shown, strict=True))
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
