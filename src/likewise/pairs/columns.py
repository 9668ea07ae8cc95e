"""Columns as people write them, parsed to numbers: answers to [0, 1], ids to positions, names to codes.

Each distinct text is parsed once, and not once per row. Every refusal names the file and the line.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs.pair_keys import is_sparse

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs


# Where answers stand, so that a message can name the file and the line.
@dataclass(frozen=True, eq=False)
class Source:
    """The file of the answers, and the place of each in it: its line in a CSV file, else its row, counted from 0."""

    lines: NDArray[np.int64]  # (m,)
    file: str = ""
    unit: str = "row"

    def place(self, row: int) -> str:
        """
        >>> Source(np.array([2, 5]), "answers.csv", "line").place(1)
        'answers.csv, line 5'
        >>> Source(np.arange(3)).place(2)
        'row 2'
        """
        place = f"{self.unit} {self.lines[row]}"
        return f"{self.file}, {place}" if self.file else place

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Source:
        return replace(self, lines=self.lines[rows])


REQUIRED = ("left", "right", "same")
OPTIONAL = ("weight", "annotator")

WORDS = {"same": 1.0, "yes": 1.0, "true": 1.0, "different": 0.0, "no": 0.0, "false": 0.0}
NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
ROW_NUMBER = r"^(0|[1-9][0-9]{0,17})$"  # not 007, which is an id
MOST_ROWS = 2**26  # see `are_rows`
LAST_ROW = 2**31 - 1  # no list has more rows; two row numbers make one key of 63 bits

REMEDIES = {
    "ids": "Give each item an id.",
    "left": "Give two items in each row.",
    "right": "Give two items in each row.",
    "same": "Use 1 for same, 0 for different.",
    "weight": "Give each answer a weight, or remove the column.",
}

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Objects = NDArray[np.object_]
Column = Any  # a pyarrow ChunkedArray


def column(name: str, values: object, source: Source) -> Column:
    """A column of anything that NumPy or Arrow can read; a value that is not there is refused."""
    if isinstance(values, pa.ChunkedArray | pa.Array):
        made = values
    else:
        array = np.asarray(values)
        array = array.astype(object) if array.dtype.kind in "UT" else array
        try:
            made = pa.array(array, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise InputError(f"{name} holds values of several or unknown kinds ({error}); give one kind.") from error
    if pa.types.is_dictionary(made.type):
        made = made.cast(made.type.value_type)
    if name == "annotator":
        made = pc.fill_null(_as_text(name, made), "")
    if made.null_count:
        row = int(np.argmax(np.asarray(made.is_null())))
        raise _empty(name, source.place(row))
    return made if isinstance(made, pa.ChunkedArray) else pa.chunked_array([made])


def items(left: Column, right: Column, source: Source) -> tuple[Ints, Ints, Objects | None, int]:
    """Positions of both sides, the ids they point into (None where they are row numbers) and the number of items.

    Whole numbers are row numbers wherever there can be so many rows. Of numbers in a text file see `are_rows`.
    """
    m = len(source.lines)
    if not (is_text(left.type) or is_text(right.type)):
        numbers = np.concatenate([whole_numbers("left", left, source), whole_numbers("right", right, source)])
        if numbers.max(initial=0) <= LAST_ROW:
            return _halves(numbers, None, m)
        distinct, place = np.unique(numbers, return_inverse=True)
        return _halves(place, distinct.astype(str).astype(object), m)

    sides = [_as_text("left", left), _as_text("right", right)]
    with ThreadPoolExecutor(len(sides)) as pool:  # most of the time it takes to read a file
        (left_codes, left_values), (right_codes, right_values) = pool.map(encode, sides)
    refuse_empty("left", left_codes, left_values, source)
    refuse_empty("right", right_codes, right_values, source)
    merged, values = encode(pa.chunked_array([left_values, right_values]))
    codes = np.concatenate([merged[left_codes], merged[len(left_values) :][right_codes]])
    if pc.all(pc.match_substring_regex(values, ROW_NUMBER)).as_py():  # true for no values too
        rows = values.cast(pa.int64()).to_numpy()
        if are_rows(rows, m):
            return _halves(rows[codes], None, m)
    return _halves(codes.astype(np.int64), values.to_numpy(zero_copy_only=False), m)


def are_rows(numbers: Ints, n_answers: int) -> bool:
    """Whether numbers in a text file count rows, or are ids: closure has an entry for each row, and so a few answers
    that name a far row would take gigabytes.

    >>> are_rows(np.array([7, 5_000_000]), 1), are_rows(np.array([7, 50_000_000]), 1)
    (True, False)
    >>> are_rows(np.array([7, 50_000_000]), 1_000_000)
    True
    """
    n = int(numbers.max(initial=-1)) + 1
    return n <= MOST_ROWS and not is_sparse(n, n_answers)


def answers(entries: Column, source: Source) -> Floats:
    """Answers in [0, 1]: numbers in [0, 1], +1 and -1, booleans, or same, different, yes, no, true, false.

    -1 means different, and then 0 would be neither: a column that has both is refused.
    """
    values, texts, codes = _numbers("same", entries)
    is_word = np.isnan(values) if texts is not None else np.zeros(len(values), dtype=np.bool_)
    if texts is not None:
        values[is_word] = [WORDS.get(text.casefold(), np.nan) for text in texts.filter(pa.array(is_word)).to_pylist()]
    row = _first(~((values >= 0) & (values <= 1) | (values == -1)), codes)
    if row is not None:
        value = entries[row].as_py()
        if isinstance(value, str) and not value.strip():
            raise _empty("same", source.place(row))
        raise InputError(f"{source.place(row)}: same must be between 0 and 1, got {value!r}. {REMEDIES['same']}")
    minus = values == -1
    row, other = _first(minus, codes), _first(~minus & (values != 1) & ~is_word, codes)
    if row is not None and other is not None:
        clash = f"{source.unit} {source.lines[other]} has {entries[other]}"
        raise InputError(f"{source.place(row)}: same is -1, but {clash}. {REMEDIES['same']}")
    same = np.where(minus, 0, values).astype(np.float32)
    return same if codes is None else same[codes]


def signs(entries: Column) -> NDArray[np.float64]:
    """The number that each answer was given as, NaN where it was a word: -1 in one part and 0 in another do not go."""
    values, _, codes = _numbers("same", entries)
    return values if codes is None else values[codes]


def weights(entries: Column, source: Source) -> Floats:
    """Weights of 0 or more."""
    values, _, codes = _numbers("weight", entries)
    with np.errstate(over="ignore"):  # what float32 cannot hold becomes infinite, and is refused
        weight = values.astype(np.float32)
    row = _first(~((weight >= 0) & np.isfinite(weight)), codes)
    if row is not None:
        value = entries[row].as_py()
        wrong = f"weight must be a number of 0 or more, got {value!r}"
        raise InputError(f"{source.place(row)}: {wrong}. {REMEDIES['weight']}")
    return weight if codes is None else weight[codes]


def names(entries: Column) -> tuple[NDArray[np.int32] | None, tuple[str, ...]]:
    """A code for each row and the name of each code, in the order they first appear; none where nobody is named.

    Where some are named and others are not, those without a name are one annotator, whose name is empty.
    """
    codes, values = encode(_as_text("annotator", entries))
    distinct_names = tuple(values.to_pylist())
    return (None, ()) if distinct_names == ("",) else (codes, distinct_names)


def encode(text: Column) -> tuple[NDArray[np.int32], Any]:
    """A code for each row and the distinct values, without the spaces around them, in the order they first appear."""
    if not len(text):
        return np.empty(0, dtype=np.int32), pa.array([], type=pa.string())
    encoded = text.dictionary_encode()
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in encoded.chunks])
    values = encoded.chunk(0).dictionary.cast(pa.string())  # all chunks have the same
    trimmed = pc.utf8_trim_whitespace(values)
    if trimmed.equals(values):
        return codes, values
    again = trimmed.dictionary_encode()
    return again.indices.to_numpy()[codes], again.dictionary


def _halves(both: Ints, ids: Objects | None, m: int) -> tuple[Ints, Ints, Objects | None, int]:
    n_items = len(ids) if ids is not None else int(both.max(initial=-1)) + 1
    return both[:m], both[m:], ids, n_items


def is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _as_text(name: str, entries: Column) -> Column:
    if is_text(entries.type):
        return entries
    try:
        return entries.cast(pa.string())
    except pa.ArrowException as error:
        raise InputError(f"{name} is of type {entries.type}; give text or whole numbers.") from error


def _numbers(name: str, entries: Column) -> tuple[NDArray[np.float64], Any, NDArray[np.int32] | None]:
    """Values, and for text the distinct texts they are from (NaN from one that is no number) and their codes."""
    if is_text(entries.type):
        codes, texts = encode(entries)
        is_number = pc.match_substring_regex(texts, NUMBER)
        return np.array(pc.if_else(is_number, texts, "nan").cast(pa.float64())), texts, codes
    try:
        return np.array(entries.cast(pa.float64(), safe=False), dtype=np.float64), None, None
    except pa.ArrowException as error:
        raise InputError(f"{name} is of type {entries.type}; give numbers.") from error


def whole_numbers(name: str, entries: Column, source: Source) -> Ints:
    wanted = "must be ids or row numbers, counted from 0"
    if not (pa.types.is_integer(entries.type) or pa.types.is_floating(entries.type)):  # pandas likes floats
        raise InputError(f"{name} is of type {entries.type}; its values {wanted}.")
    try:
        numbers = np.array(entries.cast(pa.int64()), dtype=np.int64)
    except pa.ArrowException as error:
        raise InputError(f"{name} holds numbers that are not whole ({error}); its values {wanted}.") from error
    row = _first(numbers < 0, None)
    if row is not None:
        raise InputError(f"{source.place(row)}: {name} is {numbers[row]}; its values {wanted}.")
    return numbers


def _first(wrong: NDArray[np.bool_], codes: NDArray[np.int32] | None) -> int | None:
    """The first row whose value is wrong; there is one value per row, or one per code."""
    if not wrong.any():
        return None
    rows = wrong if codes is None else wrong[codes]
    return int(np.argmax(rows)) if rows.any() else None


def refuse_empty(name: str, codes: NDArray[np.int32], values: Any, source: Source) -> None:
    row = _first(np.asarray(pc.equal(values, "")), codes)
    if row is not None:
        raise _empty(name, source.place(row))


def _empty(name: str, place: str) -> InputError:
    return InputError(f"{place}: {name} is empty. {REMEDIES[name]}")


# Where the items of answers stand in a list of ids.


def item_ids(ids: Sequence[object] | NDArray[Any]) -> Any:
    """Ids as an Arrow array of text, without the spaces around them; each item must have its own."""
    entries = [str(name) for name in ids] if not isinstance(ids, np.ndarray) else ids
    texts = pc.utf8_trim_whitespace(column("ids", entries, Source(np.arange(len(entries)))).cast(pa.string()))
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
