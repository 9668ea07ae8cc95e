"""Answers of a file a part at a time, and numbers sorted on disk, so that neither need fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs import columns, files
from likewise.pairs.columns import ROW_NUMBER, Column, Source, item_ids
from likewise.pairs.pair_keys import distinct
from likewise.storage.atomic_files import open_atomically, writing_to

# Numbers that do not fit into memory, each once and in order, in a file.
#
# Sorted runs are written first. They are then merged a block at a time: of all current blocks, the one that ends first
# says up to where everything is known.

RUN = 2**22  # numbers that are sorted together: 32 MB
MERGED = 2**22  # numbers of all runs that are looked at together

Ints = NDArray[np.int64]


class DistinctOnDisk:
    """Takes numbers in any order and gives each once, sorted, mapped from a file; memory holds a few blocks of them.

    >>> import tempfile
    >>> numbers = DistinctOnDisk(Path(tempfile.mkdtemp()) / "numbers")
    >>> numbers.add(np.array([5, 1, 5]))
    >>> numbers.add(np.array([9, 1]))
    >>> numbers.sorted().tolist()
    [1, 5, 9]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waiting: list[Ints] = []
        self.runs: list[Path] = []

    def add(self, numbers: Ints) -> None:
        self.waiting.append(numbers)
        if sum(map(len, self.waiting)) >= RUN:
            self._write_run()

    def sorted(self) -> Ints:
        for _ in self.merge():
            pass
        return mapped(self.path)

    def merge(self) -> Iterator[bool]:
        """Write the file; gives a sign of life after each block."""
        self._write_run()
        with open_atomically(self.path) as file, ExitStack() as stack:  # who has mapped an older one keeps it
            for block in _merged([stack.enter_context(run.open("rb")) for run in self.runs]):
                file.write(block.data)
                yield True
        for run in self.runs:
            run.unlink()

    def _write_run(self) -> None:
        if self.waiting:
            self.runs.append(self.path.with_name(f"{self.path.name}.run-{len(self.runs)}"))
            with writing_to(self.runs[-1]):
                distinct(np.concatenate(self.waiting)).tofile(self.runs[-1])
            self.waiting = []


def mapped(path: Path) -> Ints:
    """The numbers in a file, of which those that are looked at are read."""
    return np.memmap(path, np.int64, "r") if path.stat().st_size else np.empty(0, dtype=np.int64)


def _merged(runs: list[BinaryIO]) -> Iterator[Ints]:
    a_block = max(1, MERGED // max(1, len(runs)))
    blocks = [np.empty(0, dtype=np.int64)] * len(runs)
    while True:
        for place, run in enumerate(runs):
            if not len(blocks[place]):
                blocks[place] = np.fromfile(run, np.int64, a_block)
        ends = [block[-1] for block in blocks if len(block)]
        if not ends:
            return
        known = [int(np.searchsorted(block, min(ends), "right")) for block in blocks]
        yield distinct(np.concatenate([block[:n] for block, n in zip(blocks, known, strict=True)]))
        blocks = [block[n:] for block, n in zip(blocks, known, strict=True)]


class Part(NamedTuple):
    """Some of the answers of a file: those that say same or different of two items."""

    left: Ints  # positions of items
    right: Ints
    same: NDArray[np.bool_]
    lines: Ints


class Places:
    """The positions of items by their ids or, where they have none, by their number, as `Pairs.index` has them.

    A file has ids or row numbers throughout; where both could be meant, its first part says which.
    """

    def __init__(self, ids: int | Sequence[object]) -> None:
        self.n_items = ids if isinstance(ids, int) else len(ids)
        self.place: dict[str, int] = {}
        self.by_row: bool | None = True
        if not isinstance(ids, int):
            known = item_ids(ids)
            self.place = {name: place for place, name in enumerate(known.to_pylist())}
            self.by_row = False if pc.any(pc.match_substring_regex(known, ROW_NUMBER)).as_py() else None

    def of(self, sides: dict[str, Column], source: Source) -> tuple[Ints, Ints]:
        """The positions of both sides; an item that is not there is refused."""
        encoded = {name: _texts(name, side, source) for name, side in sides.items()}
        if self.by_row is None:
            are_rows = [pc.all(pc.match_substring_regex(texts, ROW_NUMBER)).as_py() for _, texts in encoded.values()]
            self.by_row = all(are_rows)
        left, right = (self._find(name, codes, texts, source) for name, (codes, texts) in encoded.items())
        return left, right

    def _find(self, name: str, codes: NDArray[np.int32], texts: pa.Array, source: Source) -> Ints:
        if self.by_row:
            is_row = pc.match_substring_regex(texts, ROW_NUMBER)
            positions = pc.if_else(is_row, texts, "-1").cast(pa.int64()).to_numpy(zero_copy_only=False)
            positions = np.where(positions < self.n_items, positions, -1)
        else:
            positions = np.array([self.place.get(text, -1) for text in texts.to_pylist()], dtype=np.int64)
        position = positions[codes]
        if (position < 0).any():
            row = int(np.argmax(position < 0))
            counted = ", counted from 0" if self.by_row else ""
            raise InputError(
                f"{source.place(row)}: {name} is {texts[int(codes[row])].as_py()!r}, which is not among the "
                f"{self.n_items} items{counted}. Correct the answers, or give the items they are about."
            )
        return position


def stream_answers(path: Path, ids: int | Sequence[object]) -> Iterator[Part]:
    """All answers about two different items; each must say 1 or 0 and have no weight but 1, or 0 for not given."""
    places = Places(ids)
    parts = files.csv_parts(path) if files.check_suffix(path) == ".csv" else files.parquet_parts(path)
    minus, zero = "", ""  # where the first of them stands
    for part, source in parts:
        made = {name: columns.column(name, values, source) for name, values in part.items() if name != "annotator"}
        left, right = places.of({name: made[name] for name in ("left", "right")}, source)
        same = columns.answers(made["same"], source)
        weight = columns.weights(made["weight"], source) if "weight" in made else np.ones(len(same), dtype=np.float32)
        _refuse(same, (same == 0) | (same == 1) | (weight == 0), "same", source)
        _refuse(weight, (weight == 0) | (weight == 1), "weight", source)
        signs = columns.signs(made["same"])
        minus = minus or _first_place(signs == -1, source)
        zero = zero or _first_place(signs == 0, source)
        if minus and zero:
            raise InputError(f"{minus}: same is -1, but {zero} has 0. {columns.REMEDIES['same']}")
        valid = (weight > 0) & (left != right)
        yield Part(left[valid], right[valid], same[valid] == 1, source.lines[valid])


def _texts(name: str, side: Column, source: Source) -> tuple[NDArray[np.int32], pa.Array]:
    """A code for each row, and the distinct ids or numbers as text."""
    if columns.is_text(side.type):
        codes, texts = columns.encode(side)
        columns.refuse_empty(name, codes, texts, source)
        return codes, texts
    numbers, places = np.unique(columns.whole_numbers(name, side, source), return_inverse=True)
    return places.astype(np.int32), pa.array(numbers).cast(pa.string())


def _refuse(values: NDArray[np.float32], fine: NDArray[np.bool_], name: str, source: Source) -> None:
    if not fine.all():
        row = int(np.argmin(fine))
        raise InputError(
            f"{source.place(row)}: {name} is {values[row]:g}; in a file too large for memory same and weight must be 1 "
            "or 0. Round them, or give fewer answers."
        )


def _first_place(mask: NDArray[np.bool_], source: Source) -> str:
    return source.place(int(np.argmax(mask))) if mask.any() else ""
