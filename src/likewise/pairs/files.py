"""Answers in CSV and Parquet files: columns left, right, same and, where wanted, weight and annotator.

Other columns are left alone, and the case of the names does not matter. The values of a CSV file are separated by
commas, semicolons or tabs: by what its first line makes columns with. Every refusal names the file and the line.

A value holds no line break: where a row is a line, ten million answers are divided into blocks at any line, and lines
are counted by NumPy. Tables of items may hold texts of several lines, so `datasets/table_rows.py` reads records.
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

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

SUFFIXES = (".csv", ".parquet")
STORE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
DELIMITERS = (",", ";", "\t")
COMMA_NUMBER = r"^\s*([+-]?[0-9]*),([0-9]+)\s*$"  # as in 0,5, where commas do not separate
BLOCK = 2**22  # bytes that are read at a time
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
    first, numbers = _layout(path)
    header = _header(first, path)
    if not any(header.names):
        raise InputError(f"{path} is empty. Its first line must name the columns: left,right,same.")
    wanted = wanted_columns(header.names, f"{path}, line {numbers[0]}")
    source = Source(numbers[1:], str(path), "line")
    if not len(source.lines):
        raise _no_answers(path)
    return _parse(path, path, header, [*wanted], len(source.lines), skip_rows=int(numbers[0])), source


def csv_parts(path: Path) -> Iterator[tuple[dict[str, Column], Source]]:
    """The same a few megabytes at a time."""
    _refuse_no_file(path)
    header: Header | None = None
    line = 1
    for block in _whole_lines(path):
        starts, ends, full = _lines(block)
        numbers = line + full
        line += len(ends)
        if header is None and len(full):
            header = _header(block[starts[full[0]] : ends[full[0]]], path)
            wanted = [*wanted_columns(header.names, f"{path}, line {numbers[0]}")]
            block, numbers = block[ends[full[0]] + 1 :], numbers[1:]
        if header is not None and len(numbers):
            table = _parse(path, pa.BufferReader(block), header, wanted, len(numbers))
            yield table, Source(numbers, str(path), "line")


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
        broken = texts.filter(pc.match_substring_regex(texts, "[\r\n]"))
        if len(broken):
            raise InputError(f"{path}: the name {broken[0].as_py()!r} holds a line break. Write Parquet instead.")
        quoting = "needed" if pc.any(pc.match_substring_regex(texts, '[,"]')).as_py() else "none"
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


def _layout(path: Path) -> tuple[bytes, NDArray[np.int64]]:
    """The first line that is not empty, and the numbers of all such lines."""
    _refuse_no_file(path)
    header, numbers, line = b"", [np.empty(0, dtype=np.int64)], 1
    for block in _whole_lines(path):
        starts, ends, full = _lines(block)
        if not header and len(full):
            header = block[starts[full[0]] : ends[full[0]]]
        numbers.append(line + full)
        line += len(ends)
    return header, np.concatenate(numbers)


def _lines(block: bytes) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where the lines of a block begin and end, and the places of those that are not empty."""
    characters = np.frombuffer(block, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    starts = np.concatenate([[0], ends[:-1] + 1])
    length = ends - starts
    return starts, ends, np.flatnonzero((length > 1) | ((length == 1) & (characters[starts] != ord("\r"))))


def _parse(
    path: Path, source: Any, header: Header, wanted: Sequence[str], n_lines: int, skip_rows: int = 0
) -> dict[str, Column]:
    """The wanted columns of CSV text, from the file or from a part of it."""
    names = [name if name in wanted else f"column {place}" for place, name in enumerate(header.names)]
    try:
        table = pyarrow.csv.read_csv(
            source,
            pyarrow.csv.ReadOptions(block_size=BLOCK, skip_rows=skip_rows, column_names=names),
            pyarrow.csv.ParseOptions(delimiter=header.delimiter),
            pyarrow.csv.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()), include_columns=list(wanted), strings_can_be_null=False
            ),
        )
    except pa.ArrowInvalid as error:
        raise _first_bad_line(path, header, str(error)) from error
    if len(table) != n_lines:  # fewer rows than lines
        raise _first_bad_line(path, header, "a value holds a line break")
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


def _whole_lines(path: Path) -> Iterator[bytes]:
    """The file in blocks that end with a line; the last line has its end even where the file has not."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            lines, end, rest_of_block = block.rpartition(b"\n")
            if end:
                yield rest + lines + end
                rest = rest_of_block
            else:
                rest += block
    if rest:
        yield rest + b"\n"


def _first_bad_line(path: Path, header: Header, otherwise: str) -> InputError:
    """Look for what Arrow does not say: the line that has too few or too many values, or is not UTF-8."""
    n_columns = len(header.names)
    between = {",": "commas", ";": "semicolons", "\t": "tabs"}[header.delimiter]
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                values = next(
                    csv.reader([line.decode("utf-8-sig").rstrip("\r\n")], delimiter=header.delimiter, strict=True), []
                )
            except UnicodeDecodeError:
                return InputError(f"{path}, line {number}: this is not UTF-8 text. Save the file as UTF-8.")
            except csv.Error:
                return InputError(f"{path}, line {number}: a quotation mark is open at its end. Close it.")
            if values and len(values) != n_columns:
                wrong = f"{n_columns} columns, but {len(values)} value{'' if len(values) == 1 else 's'}"
                return InputError(f"{path}, line {number}: {wrong}. Give each column a value, separated by {between}.")
    return InputError(f"{path} cannot be read as CSV ({otherwise}); write it again.")


def _refuse_no_file(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the CSV or Parquet file that holds the answers.")
    if not path.exists():
        raise InputError(f"{path} does not exist; give the CSV or Parquet file that holds the answers.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read; give yourself the right to.")


def _no_answers(path: Path) -> InputError:
    return InputError(f"{path} holds no answers. Give at least one row: left, right and whether they are the same.")
