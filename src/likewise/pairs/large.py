"""Answers of a file that is too large for memory: what they imply, and a sample of them to make batches of.

The file is read a part at a time. "Same" and "different" become distinct pairs of items, sorted on disk; components
grow block by block from the first, and the second become pairs of components, sorted on disk again and mapped. Memory
grows with the items, and not with the answers: a batch needs some answered pairs to begin with, for which a sample will
do, and its target comes from the closure of all answers.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs.closure import BLOCK, Closure, components
from likewise.pairs.columns import Source
from likewise.pairs.files import check_suffix, n_rows
from likewise.pairs.pair_keys import pair_keys, pairs_of
from likewise.pairs.pairs import Pairs
from likewise.pairs.streaming import DistinctOnDisk, Part, mapped, stream_answers
from likewise.storage.atomic_files import open_atomically, write_atomically


# A random sample of answers that come a part at a time, without knowing how many will come.
class PrioritySample:
    """At most `n` answers, every choice of them as likely: each draws a number, and the smallest ones stay.

    >>> sample = PrioritySample(3, np.random.default_rng(0))
    >>> for start in (0, 5):
    ...     left = np.arange(start, start + 5)
    ...     sample.add(Part(left, left + 1, left < 9, left + 2))
    >>> len(sample.part().left), sample.seen
    (3, 10)
    """

    def __init__(self, n: int, random: np.random.Generator) -> None:
        self.n, self.random, self.seen = n, random, 0
        self.waiting: list[tuple[NDArray[np.float64], Part]] = []
        self.n_waiting = 0

    def add(self, part: Part) -> None:
        self.seen += len(part.left)
        self.waiting.append((self.random.random(len(part.left)), part))
        self.n_waiting += len(part.left)
        if self.n_waiting > 2 * self.n:
            self._choose()

    def part(self) -> Part:
        """The sample, in the order of the file."""
        self._choose()
        return self.waiting[0][1]

    def _choose(self) -> None:
        priority = np.concatenate([np.empty(0), *(drawn for drawn, _ in self.waiting)])
        nothing = np.empty(0, dtype=np.int64)
        empty = Part(nothing, nothing, nothing.astype(np.bool_), nothing)
        columns = [np.concatenate(column) for column in zip(empty, *(part for _, part in self.waiting), strict=True)]
        if len(priority) > self.n:
            chosen = np.sort(np.argpartition(priority, self.n)[: self.n])
            priority, columns = priority[chosen], [column[chosen] for column in columns]
        self.waiting, self.n_waiting = [(priority, Part(*columns))], len(priority)


A_CSV_BYTE, A_ROW = 12, 150  # bytes of memory that a byte of CSV and a row of Parquet take when a file is read whole
SAMPLE = 2**20  # answers, or two for each item where that is more
MOST_HELD_OUT = 5000  # pins the accuracy down to a point, and costs little to measure after each epoch
LEAST_HELD_OUT = 10  # fewer say nothing, and training needs them more
NAMED = 3  # contradictions whose lines a message names

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class LargeAnswers:
    """Answers about different items, of which none contradicts the others.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> Pairs.from_arrays([("a", "b"), ("b", "c")], [1, 0]).write(place / "answers.csv")
    >>> answers = read_large(place / "answers.csv", ["a", "b", "c"], place / "answers")
    >>> len(answers), answers.n_same, answers.n_different
    (2, 1, 1)
    """

    closure: Closure  # of all that are not held out
    sample: Pairs  # of these
    held_out: Pairs  # about items of which nothing else is known; may be empty
    n_same: int
    n_different: int
    n_left_out: int = 0  # answers about items that cannot be read

    def __len__(self) -> int:
        return self.n_same + self.n_different

    @property
    def source(self) -> Source:
        """The file, and the lines of the sample in it."""
        return self.sample.source

    def some(self, ids: Sequence[str] = ()) -> Pairs:
        """The sample and what is held out, in the order of the file, with the ids of the items where they have any."""
        lines = np.concatenate([self.sample.lines, self.held_out.lines])
        order = np.argsort(lines)
        return replace(
            self.sample,
            left=np.concatenate([self.sample.left, self.held_out.left])[order],
            right=np.concatenate([self.sample.right, self.held_out.right])[order],
            same=np.concatenate([self.sample.same, self.held_out.same])[order],
            weight=np.ones(len(order), dtype=np.float32),
            source=replace(self.source, lines=lines[order]),
            ids=np.array(ids, dtype=object) if ids else None,
        )


def memory_for(path: Path) -> int:
    """The bytes of memory, or about as many, that it takes to read the answers of a file whole."""
    if not path.is_file():
        return 0
    if check_suffix(path) == ".csv":
        return A_CSV_BYTE * path.stat().st_size
    return A_ROW * n_rows(path)


def read_large(
    path: Path | str, ids: int | Sequence[object], folder: Path | str, held_out: float = 0.1, seed: int = 0
) -> LargeAnswers:
    """Read the answers of a file about the items with these ids, or so many; `folder` holds what memory does not.

    Whole items are held out, with all their answers. Every answer must be same or different for certain, and answers
    that contradict each other are refused.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> Pairs.from_arrays([("a", "b"), ("b", "c")], [1, 0]).write(place / "answers.csv")
    >>> read_large(place / "answers.csv", ["a", "b", "c"], place / "answers").closure.target([0, 2])
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    for _ in write_large(Path(path), ids, Path(folder), held_out, seed):
        pass
    return open_large(Path(folder))


def write_large(
    path: Path,
    ids: int | Sequence[object],
    folder: Path,
    held_out: float,
    seed: int,
    readable: NDArray[np.bool_] | None = None,
) -> Iterator[bool]:
    """Write what `open_large` reads; yields after each part, to show progress.

    Where not all items are `readable`, the answers about the others are left out, and positions count those that are.
    """
    folder.mkdir(parents=True, exist_ok=True)
    readable = np.ones(ids if isinstance(ids, int) else len(ids), dtype=np.bool_) if readable is None else readable
    n = int(readable.sum())
    random = np.random.default_rng(seed)
    out = np.zeros(n, dtype=np.bool_)
    out[random.permutation(n)[: int(held_out * n)]] = True
    samples = {"sample": PrioritySample(max(SAMPLE, 2 * n), random), "held-out": PrioritySample(MOST_HELD_OUT, random)}
    different, same = (DistinctOnDisk(folder / f"{kind}-items") for kind in ("different", "same"))
    counts, left_out = [0, 0], 0
    for part, lost in _parts(path, ids, readable):
        left_out += lost
        touched = out[part.left] | out[part.right]
        kept = _select(part, ~touched)
        samples["sample"].add(kept)
        samples["held-out"].add(_select(part, touched))
        for kind, numbers in enumerate((different, same)):
            numbers.add(pair_keys(kept.left[kept.same == kind], kept.right[kept.same == kind], n))
            counts[kind] += int((part.same == kind).sum())
        yield True
    if not sum(counts):
        raise InputError(f"{path} holds no answers about two items. Give rows of left, right and same.")
    if out.any() and not _are_enough(samples["held-out"].part(), samples["sample"].seen, sum(counts)):
        yield from write_large(path, ids, folder, 0.0, seed, readable)
        return

    yield from same.merge()
    component, n_components = yield from _components(same.path, n)
    yield from different.merge()
    between, answered_different = DistinctOnDisk(folder / "different"), 0
    for i, j in _blocks(different.path, n):
        a, b = component[i], component[j]
        between.add(pair_keys(a[a != b], b[a != b], n_components))
        answered_different += int((a != b).sum())
        yield True
    if answered_different < _length(different.path):
        yield from _refuse(path, (part for part, _ in _parts(path, ids, readable)), component, out)
    yield from between.merge()
    about = {
        "file": str(path),
        "unit": _unit(path),
        "n_components": n_components,
        "answered": (_length(same.path), answered_different),
        "counts": counts,
        "left_out": left_out,
    }
    for numbers in (same, different):
        numbers.path.unlink()
    _write_array(folder / "component.npy", component)
    for name, sample in samples.items():
        part = sample.part()
        _write_array(folder / f"{name}.npy", np.stack([part.left, part.right, part.same, part.lines]))
    write_atomically(folder / "answers.json", json.dumps(about))


def open_large(folder: Path) -> LargeAnswers:
    """What `write_large` wrote."""
    about = json.loads((folder / "answers.json").read_text())
    component = np.load(folder / "component.npy")
    closure = Closure(component, about["n_components"], mapped(folder / "different"), 0, *about["answered"])

    def pairs(name: str) -> Pairs:
        left, right, same, lines = np.load(folder / f"{name}.npy")
        source = Source(lines, about["file"], about["unit"])
        one = np.ones(len(left), dtype=np.float32)
        return Pairs(left, right, same.astype(np.float32), one, source=source, n_items=len(component))

    different, same = about["counts"]
    return LargeAnswers(closure, pairs("sample"), pairs("held-out"), same, different, about["left_out"])


def _parts(path: Path, ids: int | Sequence[object], readable: NDArray[np.bool_]) -> Iterator[tuple[Part, int]]:
    """The answers about readable items, with positions among these, and how many others there were."""
    place = np.cumsum(readable) - 1
    for part in stream_answers(path, ids):
        kept = _select(part, readable[part.left] & readable[part.right])
        yield kept._replace(left=place[kept.left], right=place[kept.right]), len(part.left) - len(kept.left)


def _components(same: Path, n: int) -> Generator[bool, None, tuple[Ints, int]]:
    """The components of n items from the keys of pairs that are the same, some at a time.

    What is joined becomes one node, and the next pairs are between nodes. With as many pairs at a time as there are
    items, all of it costs as much as it would at once.
    """
    component, n_components = np.arange(n), n
    for i, j in _blocks(same, n):
        joined, n_components = components(component[i], component[j], n_components)
        component = joined[component]
        yield True
    return component, n_components


def _blocks(path: Path, n: int) -> Iterator[tuple[Ints, Ints]]:
    """The pairs whose keys are in a file, some at a time."""
    with path.open("rb") as file:
        while len(some := np.fromfile(file, np.int64, max(BLOCK, n))):
            yield pairs_of(some, n)


def _length(path: Path) -> int:
    return path.stat().st_size // np.dtype(np.int64).itemsize


def _are_enough(held_out: Part, n_kept: int, n_answers: int) -> bool:
    both = held_out.same.any() and not held_out.same.all()
    return bool(both and len(held_out.same) >= LEAST_HELD_OUT and n_kept >= n_answers / 2)


def _refuse(path: Path, parts: Iterator[Part], component: Ints, out: NDArray[np.bool_]) -> Iterator[bool]:
    """Count the answers "different" within a component, name the first ones, and end."""
    count, lines = 0, np.empty(0, dtype=np.int64)
    for part in parts:
        rest = _select(part, ~(out[part.left] | out[part.right]))
        denied = ~rest.same & (component[rest.left] == component[rest.right])
        count += int(denied.sum())
        lines = np.concatenate([lines, rest.lines[denied]])[:NAMED]
        yield True
    unit = _unit(path)
    what = "1 answer says" if count == 1 else f"{count:,} answers say"
    where = f"{unit}{'' if len(lines) == 1 else 's'} {', '.join(map(str, lines))}{' ...' if count > len(lines) else ''}"
    raise InputError(
        f'{path}: {what} "different" of items that chains of "same" join ({where}). Correct or remove these, or the '
        "chains: a file this large is not repaired."
    )


def _unit(path: Path) -> str:
    return "line" if check_suffix(path) == ".csv" else "row"


def _select(part: Part, rows: NDArray[np.bool_]) -> Part:
    return Part(part.left[rows], part.right[rows], part.same[rows], part.lines[rows])


def _write_array(path: Path, array: NDArray[np.int64]) -> None:
    with open_atomically(path) as file:
        np.save(file, array)
