"""Tables of features, CSV or Parquet: a column of ids and one of classes where they are there, all others numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.datasets.items import Items, ItemStream, collect, number_labels, own_ids
from likewise.datasets.table_rows import CsvRows, ParquetRows, as_float
from likewise.errors import InputError

SUFFIXES = (".csv", ".parquet")
ID_NAMES = ("id", "item", "name", "file", "filename", "", "__index_level_0__")  # the last two: an index from pandas
LABEL_NAMES = ("label", "class", "y", "target")
CHUNK = 4096  # rows read between two copies into the whole
EXACT = 2**53  # whole numbers below it are exact as floats


class Rows(Protocol):
    """What a kind of file must do to be read as a table."""

    path: Path
    names: tuple[str, ...]
    texts: set[str]  # the columns that hold text and not numbers

    def place(self, row: int) -> str: ...
    def read_text(self, columns: Sequence[str]) -> tuple[int, dict[str, Any]]: ...
    def read_numbers(self, columns: Sequence[str], chunk: int) -> Iterator[NDArray[np.float32]]: ...


def load_table(path: Path | str, *, columns: Sequence[str] = ()) -> Items:
    """The items of a CSV or Parquet file, one per row, as float32 (n, d) with the names of the d columns.

    The ids are in the column called id, item, name, file or filename (the first of these that is there, in upper or
    lower case), else in the only column that holds text; else items have their row numbers. The classes are in the
    column called label, class, y or target: text or integers, empty, -1 or -100 where unknown. All other columns are
    features and must be numbers or booleans; with `columns`, just these are, in this order, whatever else is there.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> _ = file.write_text("id,length,width,label\\na,1.5,0.2,iris\\nb,4.5,1.5,rose\\n")
    >>> items = load_table(file)
    >>> items.ids, items.inputs, items.class_names
    (('a', 'b'), tensor([[1.5000, 0.2000],
            [4.5000, 1.5000]]), ('iris', 'rose'))
    """
    table = _open(Path(path), columns)
    labels, names = table.labels()
    return replace(collect(table.stream(CHUNK)), labels=labels, class_names=names)


def open_table(path: Path, columns: Sequence[str], chunk: int) -> ItemStream:
    """The same a chunk at a time, but without the classes: the column of labels is passed over."""
    return _open(path, columns).stream(chunk)


def feature_columns(path: Path | str) -> tuple[str, ...]:
    """The columns of a table that `load_table` takes for features."""
    return _open(Path(path), ()).columns


def label_column(path: Path | str) -> str | None:
    """The column of a table that `load_table` takes for the classes, if it has one."""
    return called(LABEL_NAMES, open_rows(Path(path)).names)


@dataclass(frozen=True)
class _Table:
    rows: Rows
    n_items: int
    ids: Any | None  # an Arrow array of text: compact
    label: str | None
    columns: tuple[str, ...]

    def stream(self, chunk: int) -> ItemStream:
        def read(broken: list[str]) -> Iterator[Items]:
            row = 0
            for features in self.rows.read_numbers(self.columns, chunk):
                ids = () if self.ids is None else tuple(self.ids[row : row + len(features)].to_pylist())
                unknown = torch.full((len(features),), -1, dtype=torch.int64)
                row += len(features)
                if row > self.n_items:
                    break
                yield Items(torch.from_numpy(features), unknown, (), ids, self.columns)
            if row != self.n_items:
                raise InputError(f"{self.rows.path} changed while it was read; start again when it is complete.")

        return ItemStream(self.n_items, read, item_bytes=4 * len(self.columns))

    def labels(self) -> tuple[Tensor, tuple[str, ...]]:
        return labels_of(self.rows, self.n_items, self.label)


def labels_of(rows: Rows, n_items: int, label: str | None) -> tuple[Tensor, tuple[str, ...]]:
    """The classes in a column, and their names; -1 for all where there is no such column."""
    if label is None:
        return torch.full((n_items,), -1, dtype=torch.int64), ()
    _, texts = rows.read_text([label])
    trimmed = pc.fill_null(pc.utf8_trim_whitespace(texts[label].combine_chunks()), "").dictionary_encode()
    distinct, codes = trimmed.dictionary.to_pylist(), trimmed.indices.to_numpy()
    labels, names = number_labels(_classes(rows, label, distinct, codes), rows.path)
    return labels[torch.from_numpy(codes.astype(np.int64))], names


def _classes(rows: Rows, label: str, distinct: list[str], codes: NDArray[np.int32]) -> NDArray[Any]:
    """Integers where all labels are such (2.0, as pandas writes beside an empty value, is 2), else text."""
    numbers = [as_float(text or "-1") for text in distinct]
    if any(value is None or EXACT <= abs(value) < np.inf for value in numbers):
        return np.array(distinct, dtype=np.str_)
    for code, value in enumerate(numbers):
        if value is not None and not value.is_integer():
            where = f"{rows.path}, {rows.place(int(np.argmax(codes == code)))}"
            wrong = f"{label} must be a class, text or a whole number, got {distinct[code]!r}"
            raise InputError(f"{where}: {wrong}. Correct it, or rename the column if it is a feature.")
    return np.array(numbers, dtype=np.int64)


def check_columns(rows: Rows, columns: Sequence[str]) -> list[str]:
    """The other columns, if these are there and none has the name of another."""
    path = rows.path
    for names, where in ((rows.names, f"{path} has two columns"), (columns, "columns= names twice the column")):
        double = next((name for place, name in enumerate(names) if name in names[:place]), None)
        if double is not None:
            raise InputError(f"{where} {double!r}; keep one of them.")
    missing = [name for name in columns if name not in rows.names]
    if missing:
        raise InputError(
            f"{path} has no column {_listed(missing)}, its columns are {_listed(rows.names)}; give a table that has it."
        )
    return [name for name in rows.names if name not in columns]


def ids_of(rows: Rows, texts: Any, column: str) -> Any:
    """The ids in a column that was read as text, an Arrow array."""
    return own_ids(texts, rows.path, column or "the id", rows.place)


def _open(path: Path, columns: Sequence[str]) -> _Table:
    rows = open_rows(path)
    others = check_columns(rows, columns)
    label = called(LABEL_NAMES, others)
    texts = [name for name in others if name in rows.texts and name != label]
    id_column = called(ID_NAMES, others)
    if id_column is None and len(texts) == 1:
        id_column = texts[0]
    features = tuple(columns) or tuple(name for name in others if name not in (id_column, label))
    if not features:
        raise InputError(
            f"{path} has no column of features beside {_listed(rows.names)}; give numbers, between commas."
        )
    if "" in features:
        raise InputError(f"{path}: column {rows.names.index('') + 1} has no name; name it or remove it.")

    n_items, read = rows.read_text([] if id_column is None else [id_column])
    if not n_items:
        raise InputError(f"{path} names its columns but holds no items; give at least one row.")
    ids = None if id_column is None else ids_of(rows, read[id_column], id_column)
    return _Table(rows, n_items, ids, label, features)


def open_rows(path: Path) -> Rows:
    if not path.is_file():
        raise InputError(
            f"{path} {'is not a file' if path.exists() else 'does not exist'}; give a CSV or Parquet file."
        )
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} may not be read; give yourself the right to.")
    match path.suffix.lower():
        case ".csv":
            return CsvRows(path)
        case ".parquet":
            return ParquetRows(path)
    raise InputError(f"{path} ends neither in .csv nor in .parquet; give a file that does.")


def called(names: Sequence[str], columns: Sequence[str]) -> str | None:
    return next((column for name in names for column in columns if column.casefold() == name), None)


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more
