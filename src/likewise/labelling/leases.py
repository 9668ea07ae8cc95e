"""Leases: a pair that one person looks at is not shown to another, until it is answered or some time has passed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Pair = tuple[int, int]  # positions of two items, the lower one first
SECONDS = 120.0


@dataclass
class Leases:
    """Who is looking at what, by a clock that counts seconds.

    >>> leases = Leases(seconds=60, clock=lambda: 0.0)
    >>> leases.take("ann", [(0, 1), (0, 2)])
    >>> sorted(leases.of_others("bob")), leases.of_others("ann")
    ([(0, 1), (0, 2)], set())
    """

    seconds: float = SECONDS
    clock: Callable[[], float] = time.monotonic
    _taken: dict[Pair, tuple[str, float]] = field(default_factory=dict, init=False)

    def take(self, person: str, pairs: Iterable[Pair]) -> None:
        """Lease these pairs to a person, in place of those that they had."""
        ends = self.clock() + self.seconds
        self._taken = {pair: lease for pair, lease in self._taken.items() if lease[0] != person}
        for pair in pairs:
            if pair not in self._taken or self._taken[pair][1] <= self.clock():
                self._taken[pair] = person, ends

    def renew(self, person: str) -> None:
        """Restart the leases of a person."""
        ends = self.clock() + self.seconds
        for pair, (whose, _) in self._taken.items():
            if whose == person:
                self._taken[pair] = person, ends

    def people(self) -> set[str]:
        """Who is looking at something."""
        self.of_others("")
        return {whose for whose, _ in self._taken.values()}

    def of_others(self, person: str) -> set[Pair]:
        """The pairs that somebody else is looking at."""
        now = self.clock()
        self._taken = {pair: lease for pair, lease in self._taken.items() if lease[1] > now}
        return {pair for pair, (whose, _) in self._taken.items() if whose != person}
