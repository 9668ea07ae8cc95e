"""Texts as items: columns of a table, or a folder of .txt files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
import torch
from torch import Tensor

from likewise.datasets import table
from likewise.datasets.images import classes_of, names_below
from likewise.errors import InputError

SUFFIX = frozenset((".txt",))
LARGEST = 2**24  # bytes of a text file


@dataclass(frozen=True)
class Texts:
    """Texts with their ids and classes; those of files are read when they are asked for."""

    texts: Sequence[str]
    ids: Sequence[str]  # empty where items have row numbers alone
    labels: Tensor  # int64 (n,), -1 where unknown
    class_names: tuple[str, ...]
    place: Callable[[int], str]  # names an item for a message

    def __len__(self) -> int:
        return len(self.texts)


def load_texts(path: Path | str, columns: Sequence[str] = ()) -> Texts:
    """The texts of a .csv or .parquet table, whose columns are joined by line breaks, or of the .txt files of a folder.

    Ids and classes of a table are in columns that are called as `load_table` has it; in a folder they are the names of
    the files and of the first folder on the way to each. An empty text is refused.
    """
    path = Path(path)
    if path.is_dir():
        return _of_folder(path)
    if path.suffix.lower() not in table.SUFFIXES:
        raise InputError(f"{path} holds no texts; give a .csv or .parquet table, or a folder of .txt files.")
    return _of_table(path, columns)


def text_columns(path: Path) -> tuple[str, ...]:
    """The columns of a table that hold text and are neither its ids nor its classes."""
    rows = table.open_rows(path)
    ids, label = (table.called(names, rows.names) for names in (table.ID_NAMES, table.LABEL_NAMES))
    return tuple(name for name in rows.names if name in rows.texts and name not in (ids, label))


def text_features(path: Path) -> tuple[str, ...]:
    """The columns of text in a table that `load_table` would refuse; the only one may be its ids."""
    rows, texts = table.open_rows(path), text_columns(path)
    named = [table.called(names, rows.names) for names in (table.ID_NAMES, table.LABEL_NAMES)]
    numbers = [name for name in rows.names if name not in (*texts, *named)]
    return () if len(texts) == 1 and named[0] is None and numbers else texts


def _of_table(path: Path, columns: Sequence[str]) -> Texts:
    rows = table.open_rows(path)
    if not columns:
        there = text_columns(path)
        remedy = f"such as --text {there[0]}" if there else "and this table seems to have none"
        raise InputError(f"{path} is a table; name the columns that hold its texts, {remedy}.")
    others = table.check_columns(rows, columns)
    for name in columns:
        if name not in rows.texts:
            raise InputError(f"{path}: the column {name!r} holds no text; name columns of text with --text.")
    id_column, label = table.called(table.ID_NAMES, others), table.called(table.LABEL_NAMES, others)
    wanted = [*columns, *([] if id_column is None else [id_column])]
    n, read = rows.read_text(wanted)
    if not n:
        raise InputError(f"{path} names its columns but holds no items; give at least one row.")
    parts = [[(value or "").strip() for value in read[name].to_pylist()] for name in columns]
    texts = ["\n".join(filter(None, row)) for row in zip(*parts, strict=True)]
    if "" in texts:
        where = f"{path}, {rows.place(texts.index(''))}"
        empty = f"{' and '.join(columns)} {'is' if len(columns) == 1 else 'are'} empty"
        raise InputError(f"{where}: {empty}. Fill in a text, or leave out the row.")
    ids = () if id_column is None else table.ids_of(rows, read[id_column], id_column).to_pylist()
    labels, names = table.labels_of(rows, n, label)
    return Texts(texts, ids, labels, names, rows.place)


def _of_folder(path: Path) -> Texts:
    ids = names_below(path, SUFFIX)
    if not ids:
        raise InputError(f"{path} holds no text; its files should end in .txt.")
    labels, names = classes_of(ids)
    return Texts(_TextFiles(path, ids), ids, torch.from_numpy(labels.astype(np.int64)), names, lambda row: ids[row])


class _TextFiles(Sequence[str]):
    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder, self.names = folder, names

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        if isinstance(place, slice):
            return _TextFiles(self.folder, self.names[place])
        path = self.folder / self.names[place]
        if path.stat().st_size > LARGEST:
            raise InputError(f"{path} has more than {LARGEST // 2**20} MiB; a text is at most as long.")
        try:
            text = path.read_text("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            raise InputError(f"{path} is not UTF-8 text; save it as UTF-8.") from error
        if not text:
            raise InputError(f"{path} is empty; fill in a text, or remove the file.")
        return text
