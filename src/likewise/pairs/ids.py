"""The ids of a list of items, and where the items of answers stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs.columns import ROW_NUMBER, column
from likewise.pairs.source import Source

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


def lookup(pairs: Pairs, ids: int | Sequence[object] | NDArray[Any]) -> tuple[Ints, NDArray[np.object_] | None]:
    """The new position of each old one, and the ids in the new order."""
    if isinstance(ids, int | np.integer):
        _refuse_ids(pairs, int(ids))
        return _same_rows(pairs, int(ids)), None
    known = item_ids(ids)
    names = known.to_numpy(zero_copy_only=False)
    if pairs.ids is None and not pc.any(pc.match_substring_regex(known, ROW_NUMBER)).as_py():
        return _same_rows(pairs, len(names)), names
    used = pairs.items
    wanted = used.astype(str).astype(object) if pairs.ids is None else pairs.ids[used]
    found = pc.fill_null(pc.index_in(pa.array(wanted, pa.string()), value_set=known), -1).to_numpy()
    position = np.full(pairs.n_items, -1, dtype=np.int64)
    position[used] = found
    _refuse_unknown(pairs, position, f"the {len(names)} items")
    return position, names


def _same_rows(pairs: Pairs, n: int) -> Ints:
    rows = np.arange(pairs.n_items)
    _refuse_unknown(pairs, np.where(rows < n, rows, -1), f"the {n} items, counted from 0")
    return rows


def _refuse_ids(pairs: Pairs, n: int) -> None:
    if pairs.ids is not None and len(pairs):
        first = f"{pairs.source.place(0)}: left is {pairs.name(int(pairs.left[0]))!r}"
        raise InputError(f"{first}, but the {n} items have no ids. Give their row numbers, counted from 0.")


def _refuse_unknown(pairs: Pairs, position: Ints, among: str) -> None:
    unknown = (position[pairs.left] < 0) | (position[pairs.right] < 0)
    if not unknown.any():
        return
    row = int(np.argmax(unknown))
    side = "left" if position[pairs.left[row]] < 0 else "right"
    item = int(pairs.left[row] if side == "left" else pairs.right[row])
    more = int((position[pairs.items] < 0).sum()) - 1
    others = f", and {more} more of their items are not either" if more else ""
    raise InputError(
        f"{pairs.source.place(row)}: {side} is {pairs.name(item)!r}, which is not among {among}{others}. "
        "Correct the answers, or give the items they are about."
    )
