"""Numbers out of the columns of a table, and what is said where a value is none."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from likewise.errors import InputError


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
