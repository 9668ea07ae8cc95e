"""Output files: the place is checked before the work begins; tables are written as .csv or .parquet in parts."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from likewise.errors import InputError


def check_file(path: Path, option: str, suffixes: tuple[str, ...]) -> None:
    """Refuse what cannot become a file of this kind; nothing is made yet."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path} must end in {' or '.join(suffixes)}; give {option} such a name.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give {option} the name of a file.")
    _check_writable(path, option)


def check_folder(path: Path, option: str) -> None:
    """Refuse what cannot become a folder or cannot be written to; nothing is made yet."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give {option} the name of a folder.")
    _check_writable(path / "within", option)


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Inside, an OSError becomes a sentence that says which file cannot be written, or read."""
    try:
        yield
    except OSError as error:
        from likewise.storage.atomic_files import failed_to_write

        reason, again = error.strerror or error, "set that right and run the same command again"
        if not failed_to_write(error):
            raise InputError(f"{error.filename or 'A file'} cannot be read ({reason}); {again}.") from error
        raise InputError(
            f"{error.filename or path} cannot be written ({reason}); {again}, or give {option} another place."
        ) from error


def _check_writable(path: Path, option: str) -> None:
    existing = next(folder for folder in path.absolute().parents if folder.exists())
    if not existing.is_dir():
        raise InputError(f"{path} cannot be made, because {existing} is a file; give {option} another place.")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(f"{existing} cannot be written to; give {option} another place.")


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
