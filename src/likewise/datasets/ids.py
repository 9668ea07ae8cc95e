"""The ids of items in a file: text, and each its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from likewise.errors import InputError


def own_ids(texts: Any, path: Path, column: str, place: Callable[[int], str]) -> Any:
    """An Arrow array of ids, without the spaces around them; `place` names a row for a message."""
    ids = pc.fill_null(pc.utf8_trim_whitespace(texts), "")
    if isinstance(ids, pa.ChunkedArray):
        ids = ids.combine_chunks()
    empty = pc.index(ids, "").as_py()
    if empty >= 0:
        raise InputError(f"{path}, {place(empty)}: {column} is empty. Give each item an id.")
    counts = pc.value_counts(ids)
    if len(counts) < len(ids):
        double = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[0]
        one, other = np.flatnonzero(np.asarray(pc.equal(ids, double)))[:2].tolist()
        wrong = f"{path}, {place(other)}: {column} is {double.as_py()!r}, as in {place(one)}"
        raise InputError(f"{wrong}. Give each item an id of its own.")
    return ids
