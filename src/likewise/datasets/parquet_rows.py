"""A table in a Parquet file. Every refusal names the row, counted from 0."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from numpy.typing import NDArray

from likewise.datasets.features import features_of, refusal
from likewise.errors import InputError, reading_as

BUFFER = 2**16  # bytes of each column that are read at a time


class ParquetRows:
    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.types = {field.name: _plain(field.type) for field in file.schema_arrow}
            self.names = tuple(file.schema_arrow.names)
        self.texts = {name for name, kind in self.types.items() if _is_text(kind)}

    def place(self, row: int) -> str:
        return f"row {row}"

    def read_text(self, columns: Sequence[str]) -> tuple[int, dict[str, Any]]:
        """The number of rows, and the columns as text."""
        with self._open() as file:
            table = file.read(columns=list(columns))
            table.validate(full=True)  # that text is UTF-8, and codes have values
            return file.metadata.num_rows, {name: self._text(name, table[name]) for name in columns}

    def read_numbers(self, columns: Sequence[str], chunk: int) -> Iterator[NDArray[np.float32]]:
        """The columns, (at most `chunk` rows, columns) at a time."""
        with self._open() as file:
            row = 0
            for batch in file.iter_batches(batch_size=chunk, columns=list(columns)):
                for name in columns:
                    if not _is_number(self.types[name]):
                        raise refusal(f"{self.path}, row {row}", name, batch.column(name)[0].as_py())
                features = features_of(batch, columns)
                unusable = np.argwhere(~np.isfinite(features))
                if len(unusable):
                    first, place = unusable[0].tolist()
                    value = batch.column(columns[place])[first].as_py()
                    raise refusal(f"{self.path}, row {row + first}", columns[place], value)
                yield features
                row += len(features)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        # Arrow would else read ahead, all the file, or whole columns of a row group.
        with (
            reading_as("Parquet", self.path),
            pyarrow.parquet.ParquetFile(self.path, pre_buffer=False, buffer_size=BUFFER) as file,
        ):
            yield file

    def _text(self, name: str, values: Any) -> Any:
        kind = self.types[name]
        if not (_is_text(kind) or _is_number(kind)):
            raise InputError(f"{self.path}: {name} is of type {kind}; give text or integers, or rename the column.")
        values = values.cast(kind)
        if pa.types.is_floating(kind):
            values = pc.if_else(pc.is_nan(values), None, values)
        return values.cast(pa.string())


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )
