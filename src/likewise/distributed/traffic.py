"""What a process sends to the others, counted by payload; the collectives of this room add to it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Traffic:
    """Bytes that this rank sends, as a ring does it, and how often it had to wait for the others.

    An all-reduce of n bytes among s ranks sends 2 n (s - 1) / s from each; a gathering of n bytes of each, n (s - 1).
    """

    bytes: float = 0.0
    calls: int = 0

    def reduced(self, payload: int, size: int) -> None:
        self.bytes += 2 * payload * (size - 1) / size
        self.calls += 1

    def gathered(self, payload: int, size: int) -> None:
        self.bytes += payload * (size - 1)
        self.calls += 1


_all = Traffic()


@contextmanager
def traffic() -> Iterator[Traffic]:
    """What was sent inside, known after the end.

    >>> with traffic() as sent:
    ...     pass
    >>> sent
    Traffic(bytes=0.0, calls=0)
    """
    before = Traffic(_all.bytes, _all.calls)
    sent = Traffic()
    try:
        yield sent
    finally:
        sent.bytes, sent.calls = _all.bytes - before.bytes, _all.calls - before.calls


def count() -> Traffic:
    """The running count of this process."""
    return _all
