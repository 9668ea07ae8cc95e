"""A random sample of answers that come a part at a time, without knowing how many will come."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.streaming import Part


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
