"""Class labels and ids as people write them: labels are numbered, and each id is checked to be unique."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.errors import InputError
from likewise.unknown import UNKNOWN


def number_labels(values: NDArray[Any], path: Path) -> tuple[Tensor, tuple[str, ...]]:
    """An index into the sorted class names for each label, integers or text; -1 where unknown: -1, -100 or empty text.

    >>> number_labels(np.array(["dog", "", "cat", "dog"]), Path("pets.csv"))
    (tensor([ 1, -1,  0,  1]), ('cat', 'dog'))
    >>> number_labels(np.array([10, -1, 9]), Path("digits.csv"))
    (tensor([ 1, -1,  0]), ('9', '10'))
    """
    classes, index = np.unique(values, return_inverse=True)
    if values.dtype.kind == "U":
        known = ~np.isin(classes, ("", *map(str, UNKNOWN)))
    else:
        known = classes >= 0
        wrong = classes[~known & ~np.isin(classes, UNKNOWN)]
        if len(wrong):
            raise InputError(f"{path} holds the label {wrong[0]}; use -1 where a label is unknown.")
    number = np.where(known, np.cumsum(known) - 1, -1)
    return torch.from_numpy(number[index].astype(np.int64)), tuple(str(name) for name in classes[known].tolist())


# The ids of items in a file: text, and each its own.
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
