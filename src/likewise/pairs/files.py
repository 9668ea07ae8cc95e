"""Answers in CSV and Parquet files: columns left, right, same and, where wanted, weight and annotator.

Other columns are left alone, and the case of the names does not matter. The values of a CSV file are separated by
commas, semicolons or tabs: by what its first line makes columns with. Every refusal names the file and the line.

The rule for records and their line breaks is that of every table (`storage/csv_records.py`). Ten million answers are
divided into blocks of records, whose lines are counted by NumPy.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from likewise.errors import InputError, reading_as
from likewise.pairs.columns import OPTIONAL, REQUIRED, Column, Source
from likewise.storage.atomic_files import open_atomically
from likewise.storage.csv_records import BLOCK, DELIMITERS, record_ends, refusal, whole_records

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

SUFFIXES = (".csv", ".parquet")
STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
COMMA_NUMBER = r"^\s*([+-]?[0-9]*),([0-9]+)\s*$"  # as in 0,5, where commas do not separate
ROWS = 2**18  # rows that are written at a time


class Header(NamedTuple):
    """The first line of a CSV file: the names of its columns, in lower case, and what separates values."""

    names: list[str]
    delimiter: str


def is_store(place: Path | str) -> bool:
    """Whether answers are in a store: the file of a database, or its URL.

    >>> is_store("answers.db"), is_store("postgresql+psycopg://team@host/answers"), is_store("answers.csv")
    (True, True, False)
    """
    return "://" in str(place) or Path(place).suffix.lower() in STORE_SUFFIXES


def check_suffix(path: Path) -> str:
    """The suffix of a file that can be read or written."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path} ends neither in .csv nor in .parquet; give a file that does.")
    return suffix


def read_csv(path: Path) -> tuple[dict[str, Column], Source]:
    """The columns of a CSV file as text, and the line of each row; empty lines do not count as rows."""
    first, numbers, quoted = _layout(path)
    header = _header(first, path)
    if not any(header.names):
        raise InputError(f"{path} is empty. Its first line must name the columns: left,right,same.")
    wanted = wanted_columns(header.names, f"{path}, line {numbers[0]}")
    if len(numbers) == 1:
        raise _no_answers(path)
    columns = _parse(path, path, header, [*wanted], quoted, skip_rows=int(numbers[0]))
    return columns, _source(path, header, columns, numbers[1:])


def csv_parts(path: Path) -> Iterator[tuple[dict[str, Column], Source]]:
    """The same a few megabytes at a time."""
    _refuse_no_file(path)
    header: Header | None = None
    line = 1
    for block in whole_records(path):
        starts, ends, numbers, line = _lines(block, line)
        if header is None and len(starts):
            header = _header(block[starts[0] : ends[0]], path)
            wanted = [*wanted_columns(header.names, f"{path}, line {numbers[0]}")]
            block, numbers = block[ends[0] + 1 :], numbers[1:]
        if header is not None and len(numbers):
            columns = _parse(path, pa.BufferReader(block), header, wanted, quoted=b'"' in block)
            yield columns, _source(path, header, columns, numbers)


def _source(path: Path, header: Header, columns: dict[str, Column], lines: NDArray[np.int64]) -> Source:
    """The lines of the rows that Arrow read, of which there must be as many."""
    if len(columns["left"]) != len(lines):
        raise refusal(path, len(header.names), header.delimiter, "its lines end in carriage returns alone")
    return Source(lines, str(path), "line")


def parquet_parts(path: Path) -> Iterator[tuple[dict[str, Column], Source]]:
    """The columns of a Parquet file as they are stored, some rows at a time."""
    _refuse_no_file(path)
    row = 0
    # Arrow would else read ahead, all the file, or whole columns of a row group.
    with reading_as("Parquet", path), pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=2**16) as file:
        wanted = wanted_columns(file.schema_arrow.names, str(path))
        batches = file.iter_batches(batch_size=ROWS, columns=[*wanted.values()])
        while True:
            batch = next(batches, None)
            if batch is None:
                return
            batch.validate(full=True)  # that text is UTF-8, and codes have values
            lines = np.arange(row, row + batch.num_rows)
            row += batch.num_rows
            yield {name: batch[column] for name, column in wanted.items()}, Source(lines, str(path))


def read_parquet(path: Path) -> tuple[dict[str, Column], Source]:
    """The columns of a Parquet file as they are stored."""
    _refuse_no_file(path)
    with reading_as("Parquet", path), pyarrow.parquet.ParquetFile(path) as file:
        wanted = wanted_columns(file.schema_arrow.names, str(path))
        table = file.read(columns=[*wanted.values()])
        table.validate(full=True)  # that text is UTF-8, and codes have values
    if not len(table):
        raise _no_answers(path)
    return {name: table[column] for name, column in wanted.items()}, Source(np.arange(len(table)), str(path))


def read_store(place: Path | str) -> tuple[dict[str, Column], Source]:
    """The answers in force in a store, as columns, and the number of the event that gave each."""
    try:
        from likewise.pairs.store import in_force, open_store
    except ModuleNotFoundError as error:
        raise InputError(
            f"A store needs {error.name}, which is not installed; pip install 'likewise[label]'."
        ) from error
    with open_store(place) as store:
        name = store.name
        answers = [each for each in in_force(store.events()) if each.answer != "not sure"]
    if not answers:
        raise InputError(f"{name} holds no answers yet; give some with likewise label.")
    columns = {
        "left": pa.array([each.left for each in answers]),
        "right": pa.array([each.right for each in answers]),
        "same": pa.array([float(each.answer == "same") for each in answers]),
        "annotator": pa.array([each.annotator for each in answers]),
    }
    return columns, Source(np.array([each.number for each in answers]), name, "event")


def n_rows(path: Path) -> int:
    """The rows of a Parquet file, which it tells at its end; 0 where it cannot be read, which reading it says."""
    try:
        with reading_as("Parquet", path):
            return int(pyarrow.parquet.read_metadata(path).num_rows)
    except InputError:
        return 0


def wanted_columns(names: Sequence[Any], where: str) -> dict[str, Any]:
    """Those of our columns that are there, each with its name there; all that are required must be, once."""
    plain = [str(name).strip().casefold() for name in names]
    for name in REQUIRED:
        if name not in plain:
            have = ", ".join(map(str, names))
            raise InputError(f"{where}: there is no column {name!r} but {have}. Name the columns left,right,same.")
    wanted = [name for name in (*REQUIRED, *OPTIONAL) if name in plain]
    for name in wanted:
        if plain.count(name) > 1:
            raise InputError(f"{where}: there are two columns {name!r}. Keep one of them.")
    return {name: names[plain.index(name)] for name in wanted}


def write_csv(pairs: Pairs, path: Path) -> None:
    """Write a CSV file that appears whole or not at all."""
    quoting = "none"
    if pairs.ids is not None or pairs.annotators:
        texts = pa.array([*(() if pairs.ids is None else pairs.ids.tolist()), *pairs.annotators], pa.string())
        quoting = "needed" if pc.any(pc.match_substring_regex(texts, '[,"\r\n]')).as_py() else "none"
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=quoting)
    with open_atomically(path) as file:
        file.write((",".join(_schema(pairs).names) + "\n").encode())
        for table in _tables(pairs):
            pyarrow.csv.write_csv(table, file, options)


def write_parquet(pairs: Pairs, path: Path) -> None:
    """Write a Parquet file that appears whole or not at all; ids are plain text in it, stored once each."""
    schema = _schema(pairs)
    with open_atomically(path) as file, pyarrow.parquet.ParquetWriter(file, schema, store_schema=False) as writer:
        for table in _tables(pairs):
            writer.write_table(table)


def _schema(pairs: Pairs) -> Any:
    text = pa.dictionary(pa.int32(), pa.string())
    item = pa.int64() if pairs.ids is None else text
    columns = {"left": item, "right": item, "same": pa.float32()}
    if (pairs.weight != 1).any():
        columns["weight"] = pa.float32()
    if pairs.annotator is not None:
        columns["annotator"] = text
    return pa.schema(columns)


def _tables(pairs: Pairs) -> Iterator[Any]:
    schema = _schema(pairs)
    ids = None if pairs.ids is None else pa.array(pairs.ids, pa.string())
    annotators = pa.array(pairs.annotators, pa.string())

    def named(codes: NDArray[Any], names: Any) -> Any:
        return codes if names is None else pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), names)

    for start in range(0, len(pairs), ROWS):
        part = slice(start, start + ROWS)
        columns = {"left": named(pairs.left[part], ids), "right": named(pairs.right[part], ids)}
        columns |= {"same": pairs.same[part], "weight": pairs.weight[part]}
        if pairs.annotator is not None:
            columns["annotator"] = named(pairs.annotator[part], annotators)
        yield pa.table({name: columns[name] for name in schema.names}, schema=schema)


def _layout(path: Path) -> tuple[bytes, NDArray[np.int64], bool]:
    """The first record, the lines on which records begin, and whether a value is quoted."""
    _refuse_no_file(path)
    header, numbers, line, quoted = b"", [np.empty(0, dtype=np.int64)], 1, False
    for block in whole_records(path):
        starts, ends, lines, line = _lines(block, line)
        if not header and len(starts):
            header = block[starts[0] : ends[0]]
        numbers.append(lines)
        quoted = quoted or b'"' in block
    return header, np.concatenate(numbers), quoted


def _lines(block: bytes, line: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Where the records of a block that begins on a line begin and end, their lines, and the line after the block."""
    characters = np.frombuffer(block, dtype=np.uint8)
    ends = record_ends(block)
    starts = np.concatenate([[0], ends[:-1] + 1])
    length = ends - starts
    full = (length > 1) | ((length == 1) & (characters[starts] != ord("\r")))
    breaks = np.flatnonzero(characters == ord("\n"))
    lines = line + np.searchsorted(breaks, starts)
    return starts[full], ends[full], lines[full], line + len(breaks)


def _parse(
    path: Path, source: Any, header: Header, wanted: Sequence[str], quoted: bool, skip_rows: int = 0
) -> dict[str, Column]:
    """The wanted columns of CSV text, from the file or from a part of it."""
    names = [name if name in wanted else f"column {place}" for place, name in enumerate(header.names)]
    try:
        table = pyarrow.csv.read_csv(
            source,
            pyarrow.csv.ReadOptions(block_size=BLOCK, skip_rows=skip_rows, column_names=names),
            pyarrow.csv.ParseOptions(delimiter=header.delimiter, newlines_in_values=quoted),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()), include_columns=list(wanted), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise refusal(path, len(header.names), header.delimiter, error) from error
    columns = {name: table[name] for name in wanted}
    if header.delimiter != ",":
        for name in {"same", "weight"} & {*wanted}:
            columns[name] = pc.replace_substring_regex(columns[name], COMMA_NUMBER, r"\1.\2")
    return columns


def _header(line: bytes, path: Path) -> Header:
    """The names of the columns, by the first delimiter that gives all that are required; else by commas."""
    text = line.decode("utf-8-sig", "replace")
    headers = []
    for delimiter in DELIMITERS:
        try:
            names = next(csv.reader([text], delimiter=delimiter), [])
        except csv.Error as error:  # a line that ends in a carriage return alone
            raise InputError(f"{path} cannot be read as CSV ({error}); end each line with a line feed.") from error
        headers.append(Header([name.strip().casefold() for name in names], delimiter))
    return next((header for header in headers if {*REQUIRED} <= {*header.names}), headers[0])


def _refuse_no_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the CSV or Parquet file that holds the answers.")
    if not path.exists():
        raise InputError(f"{path} does not exist; give the CSV or Parquet file that holds the answers.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read; give yourself the right to.")


def _no_answers(path: Path) -> InputError:
    return InputError(f"{path} holds no answers. Give at least one row: left, right and whether they are the same.")
