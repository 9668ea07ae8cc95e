"""The records of a CSV file, by one rule for answers, items and labels.

A record ends with its line, except that a quoted value may hold line breaks. Empty lines are no records. The text is
UTF-8, perhaps with a byte order mark. Arrow reads the values; on which line a record begins, and which one it could not
read, it does not say, so both are found here.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError

BLOCK = 2**22  # bytes that are read at a time
LONGEST = 2**28  # bytes of a record: a quotation mark that is never closed must not fill the memory
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
QUOTED = re.compile(rb'(?:(?<=[,;\t\r\n])|\A)"(?:[^"]++|"")*+(?:"|\Z)')

Ints = NDArray[np.int64]


def records(path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """The line on which each record begins, and its values, at the speed of Python."""
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        while True:
            line = reader.line_num + 1
            try:
                values = next(reader, None)
                "".join(values or ()).encode()
            except UnicodeEncodeError as error:
                raise InputError(f"{path}, line {line}: this is not UTF-8 text. Save the file as UTF-8.") from error
            except csv.Error as error:
                wrong = f"{path}, line {line}: this is not sound CSV ({error})"
                raise InputError(f"{wrong}. Close each quotation mark, and double one inside a value.") from error
            if values is None:
                return
            if values:
                yield line, values


def whole_records(path: Path) -> Iterator[bytes]:
    """The file in blocks that end with a record; the last record has its end even where the file has not."""
    rest = b""
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            block = rest + block
            ends = record_ends(block)
            cut = int(ends[-1]) + 1 if len(ends) else 0
            rest = block[cut:]
            if len(rest) > LONGEST:
                raise InputError(f"{path}: a value is over {LONGEST >> 20} MiB long. Close each quotation mark.")
            if cut:
                yield block[:cut]
    if rest:
        yield rest + b"\n"


def record_ends(block: bytes) -> Ints:
    """The line feeds in a block that end a record: those outside quoted values.

    >>> record_ends(b'a,b\\n"c\\nd",e\\n').tolist()
    [3, 11]
    """
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    spans = [match.span() for match in QUOTED.finditer(block)] if b'"' in block else []
    if not spans:
        return ends
    starts, stops = np.array(spans).T
    value = np.searchsorted(starts, ends, "right") - 1  # the quoted value that begins last before it
    ends_record: Ints = ends[(value < 0) | (ends >= stops[value])]
    return ends_record


def refusal(path: Path, n_columns: int, delimiter: str, otherwise: object) -> InputError:
    """What is wrong with a file that Arrow refused, and on which line."""
    try:
        for line, values in islice(records(path, delimiter), 1, None):
            if len(values) != n_columns:
                wrong = f"{n_columns} columns, but {len(values)} value{'' if len(values) == 1 else 's'}"
                remedy = f"Give each column a value, separated by {DELIMITERS[delimiter]}"
                return InputError(f"{path}, line {line}: {wrong}. {remedy}.")
    except InputError as error:
        return error
    return InputError(f"{path} cannot be read as CSV ({otherwise}); write it again.")
