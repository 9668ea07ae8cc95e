"""The ids of a list of items, and where the items of answers stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs.columns import ROW_NUMBER, Source, are_rows, column

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Ints = NDArray[np.int64]


def item_ids(ids: Sequence[object] | NDArray[Any]) -> Any:
    """Ids as an Arrow array of text, without the spaces around them; each item must have its own."""
    given = [str(name) for name in ids] if not isinstance(ids, np.ndarray) else ids
    texts = pc.utf8_trim_whitespace(column("ids", given, Source(np.arange(len(given)))).cast(pa.string()))
    counts = pc.value_counts(texts)
    if len(counts) < len(texts):
        double = counts.filter(pc.greater(counts.field("counts"), 1))[0]["values"].as_py()
        raise InputError(f"Two items have the id {double!r}; give each its own.")
    return texts.combine_chunks()


def lookup(
    pairs: Pairs, ids: int | Sequence[object] | NDArray[Any]
) -> tuple[Ints, Ints, int, NDArray[np.object_] | None]:
    """The new positions of both sides, the number of items, and the ids in the new order."""
    if isinstance(ids, int | np.integer):
        n, known, names = int(ids), None, None
    else:
        known = item_ids(ids)
        n, names = len(known), known.to_numpy(zero_copy_only=False)
    if known is None or not pc.any(pc.match_substring_regex(known, ROW_NUMBER)).as_py():
        rows = _rows(pairs)
        if rows is not None:
            _refuse_unknown(pairs, rows[0] < n, rows[1] < n, f"the {n} items, counted from 0")
            return *rows, n, names
        if known is None and len(pairs):
            first = f"{pairs.source.place(0)}: left is {pairs.name(int(pairs.left[0]))!r}"
            raise InputError(
                f"{first}, but the {n} items have no ids. Give their row numbers, counted from 0, or in Python ids=."
            )
    few = pairs.compact()
    position = (
        pc.fill_null(pc.index_in(pa.array(few.ids, pa.string()), value_set=known), -1).to_numpy().astype(np.int64)
    )
    left, right = position[few.left], position[few.right]
    _refuse_unknown(pairs, left >= 0, right >= 0, f"the {n} items")
    return left, right, n, names


def _rows(pairs: Pairs) -> tuple[Ints, Ints] | None:
    """Both sides as row numbers; None where they are ids. What a text file has may have been too far a row to know."""
    if pairs.ids is None:
        return pairs.left, pairs.right
    few = pairs.compact()
    texts = pa.array(few.ids, pa.string())
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, ROW_NUMBER)).as_py():
        return None
    numbers = texts.cast(pa.int64()).to_numpy()
    return None if are_rows(numbers, len(pairs)) else (numbers[few.left], numbers[few.right])


def _refuse_unknown(pairs: Pairs, left: NDArray[np.bool_], right: NDArray[np.bool_], among: str) -> None:
    """Refuse answers about items that are not there; `left` and `right` say which are."""
    unknown = ~(left & right)
    if not unknown.any():
        return
    row = int(np.argmax(unknown))
    side = "right" if left[row] else "left"
    item = int(pairs.right[row] if left[row] else pairs.left[row])
    more = len(np.unique(np.concatenate([pairs.left[~left], pairs.right[~right]]))) - 1
    others = f", and {more} more of their items are not either" if more else ""
    raise InputError(
        f"{pairs.source.place(row)}: {side} is {pairs.name(item)!r}, which is not among {among}{others}. "
        "Correct the answers, or give the items they are about."
    )
