"""Numbers that do not fit into memory, each once and in order, in a file.

Sorted runs are written first. They are then merged a block at a time: of all blocks at hand, the one that ends first
says up to where everything is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.keys import distinct
from likewise.storage.atomic_files import open_atomically, writing_to

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
