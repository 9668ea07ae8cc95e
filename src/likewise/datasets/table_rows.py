"""The rows of a table in a CSV or Parquet file; every refusal names the line or row."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from likewise.errors import InputError, reading_as
from likewise.storage.csv_records import BLOCK, records
from likewise.storage.csv_records import refusal as csv_refusal

BUFFER = 2**16  # bytes of each column of a Parquet file that are read at a time
SAMPLE = 100  # rows that are looked at to tell what the columns hold
BOOLEANS = frozenset(("true", "True", "TRUE", "false", "False", "FALSE"))  # as Arrow knows them
SPECTRUM = 8  # so many numbers in order can be names: wavelengths, say


def as_float(text: str) -> float | None:
    """The number that a text is, if it is one.

    >>> as_float(" 1e3 "), as_float("-inf"), as_float("1_000"), as_float("one"), as_float("")
    (1000.0, -inf, None, None, None)
    """
    try:
        return float(text) if text.isascii() and "_" not in text else None
    except ValueError:
        return None


def is_usable(text: str) -> bool:
    """Whether a text is a number that float32 can hold."""
    value = as_float(text)
    with np.errstate(over="ignore"):
        return value is not None and bool(np.isfinite(np.float32(value)))


def features_of(batch: Any, columns: Sequence[str]) -> NDArray[np.float32]:
    """The columns of an Arrow batch as (rows, columns); what is missing is NaN, what is too large is infinite."""
    features = np.empty((batch.num_rows, len(columns)), dtype=np.float32)
    with np.errstate(over="ignore"):
        for place, name in enumerate(columns):
            values = batch.column(name).cast(pa.float64(), safe=False)
            features[:, place] = values.to_numpy(zero_copy_only=False)
    return features


def refusal(where: str, column: str, value: object) -> InputError:
    remedy = "leave out the row or the column"
    if value is None or value == "":
        return InputError(f"{where}: {column} is empty. Fill it in, or {remedy}.")
    return InputError(f"{where}: {column} must be a finite number, got {reprlib.repr(value)}. Correct it, or {remedy}.")


class CsvRows:
    """A table in a CSV file: the first line names the columns. Arrow reads it; every refusal names the line.

    Empty lines do not count as rows; a value may hold line breaks when it is quoted.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        first = list(islice(records(self.path), 1 + SAMPLE))
        if not first:
            raise InputError(f"{path} is empty. Its first line must name the columns, such as id,width,height.")
        self.header, names = first[0]
        self.names = tuple(name.strip() for name in names)
        self._refuse_data_as_names()
        sample = [values for _, values in first[1:] if len(values) == len(names)]
        held = {name: [row[place] for row in sample if row[place].strip()] for place, name in enumerate(self.names)}
        self.booleans = {name for name, values in held.items() if _most(value in BOOLEANS for value in values)}
        self.texts = {name for name, values in held.items() if _most(map(_is_text, values))}

    def place(self, row: int) -> str:
        line, _ = next(islice(records(self.path), 1 + row, None))
        return f"line {line}"

    def read_text(self, columns: Sequence[str]) -> tuple[int, dict[str, Any]]:
        """The number of rows, and the columns as they are written."""
        types = dict.fromkeys(columns or self.names[:1], pa.string())
        try:
            table = pyarrow.csv.read_csv(self.path, **self._options(types))
        except pa.ArrowInvalid as error:
            raise self._first_refusal((), error) from error
        return len(table), {name: table[name] for name in columns}

    def read_numbers(self, columns: Sequence[str], chunk: int) -> Iterator[NDArray[np.float32]]:
        """The columns, (at most `chunk` rows, columns) at a time."""
        types = {name: pa.bool_() if name in self.booleans else pa.float64() for name in columns}
        try:
            with pyarrow.csv.open_csv(self.path, **self._options(types)) as reader:
                for batch in reader:
                    for start in range(0, len(batch), chunk):
                        features = features_of(batch.slice(start, chunk), columns)
                        if not np.isfinite(features).all():
                            raise self._first_refusal(columns, "a value is not finite")
                        yield features
        except pa.ArrowInvalid as error:
            raise self._first_refusal(columns, error) from error

    def _options(self, types: dict[str, Any]) -> dict[str, Any]:
        return {
            "read_options": pyarrow.csv.ReadOptions(
                block_size=BLOCK, column_names=self.names, skip_rows=self.header - 1, skip_rows_after_names=1
            ),
            "parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True),
            "convert_options": pyarrow.csv.ConvertOptions(
                column_types=types, include_columns=list(types), strings_can_be_null=False
            ),
        }

    def _first_refusal(self, columns: Sequence[str], otherwise: object) -> InputError:
        """What is wrong with the file, and on which line."""
        places = [(name, self.names.index(name)) for name in columns]
        for line, values in islice(records(self.path), 1, None):
            if len(values) != len(self.names):
                break
            for name, place in places:
                value = values[place]
                if not (is_usable(value) or (name in self.booleans and value in BOOLEANS)):
                    return refusal(f"{self.path}, line {line}", name, value.strip() and value)
        return csv_refusal(self.path, len(self.names), ",", otherwise)

    def _refuse_data_as_names(self) -> None:
        """A file without names would lose its first row, and the numbers of all others would be off by one."""
        numbers = [value for value in map(as_float, self.names) if value is not None]
        if 2 * len(numbers) <= len(self.names):
            return
        counted = any(numbers == [float(first + place) for place in range(len(numbers))] for first in (0, 1))
        ordered = all(a < b for a, b in pairwise(numbers)) or all(a > b for a, b in pairwise(numbers))
        if not (counted or (ordered and len(numbers) >= SPECTRUM)):
            wrong = f"{self.path}, line {self.header}: {numbers[0]:g} stands where the name of a column should"
            raise InputError(f"{wrong}. Put a line of names first, such as id,width,height.")


def _is_text(value: str) -> bool:
    return as_float(value) is None and value not in BOOLEANS


def _most(votes: Iterable[bool]) -> bool:
    """More than half, so that one slip in a column of numbers does not make it ids."""
    counted = list(votes)
    return 2 * sum(counted) > len(counted)


class ParquetRows:
    """A table in a Parquet file. Every refusal names the row, counted from 0."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.types = {field.name: _value_type(field.type) for field in file.schema_arrow}
            self.names = tuple(file.schema_arrow.names)
        self.texts = {name for name, kind in self.types.items() if _is_text_type(kind)}

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
                    if not _is_number_type(self.types[name]):
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
        if not (_is_text_type(kind) or _is_number_type(kind)):
            raise InputError(f"{self.path}: {name} is of type {kind}; give text or integers, or rename the column.")
        values = values.cast(kind)
        if pa.types.is_floating(kind):
            values = pc.if_else(pc.is_nan(values), None, values)
        return values.cast(pa.string())


def _value_type(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text_type(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number_type(kind: Any) -> bool:
    types = pa.types
    return bool(
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )
