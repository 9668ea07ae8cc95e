"""Which rows of a batch are this rank's.

Every rank walks through the same batches, but loads, augments and forwards only its own rows, which lie together. Where
a batch has fewer than two rows a rank, each takes all of them: batch-norm needs two, and the work is next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from likewise.distributed.world import World, world


@dataclass(frozen=True)
class Share:
    """Rows `start` to `stop` - 1 of a batch of `whole` rows."""

    start: int
    stop: int
    whole: int
    rank: int = 0
    size: int = 1

    @property
    def rows(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def is_part(self) -> bool:
        """Whether other ranks have other rows."""
        return self.stop - self.start < self.whole

    @property
    def salt(self) -> tuple[int, ...]:
        """What to mix into a seed: ranks with other rows draw other numbers, and those with the same rows the same."""
        return (self.rank,) if self.is_part else ()

    def before(self, position: int) -> int:
        """How many of these rows come before a position of the whole batch.

        >>> Share(4, 8, 8).before(6), Share(4, 8, 8).before(2)
        (2, 0)
        """
        return min(max(position - self.start, 0), self.stop - self.start)


def share(b: int, among: World | None = None) -> Share:
    """The share of this rank, or of a given one, in a batch of b rows; they differ by one row at most.

    >>> [share(7, World(rank, 3)).rows for rank in range(3)]
    [slice(0, 3, None), slice(3, 5, None), slice(5, 7, None)]
    >>> share(5, World(1, 3)).is_part
    False
    """
    ours = world() if among is None else among
    if ours.size == 1 or b < 2 * ours.size:
        return Share(0, b, b, ours.rank, ours.size)
    each, more = divmod(b, ours.size)
    start = ours.rank * each + min(ours.rank, more)
    return Share(start, start + each + (ours.rank < more), b, ours.rank, ours.size)


_at_hand: ContextVar[Share | None] = ContextVar("share", default=None)


@contextmanager
def sharing(b: int) -> Iterator[Share]:
    """Inside, a batch of b rows is at hand, of which this rank has its share; all ranks do the same things in here."""
    own = share(b)
    token = _at_hand.set(own)
    try:
        yield own
    finally:
        _at_hand.reset(token)


def current_share(rows: int = 0) -> Share:
    """The share that is at hand; outside of `sharing`, all of `rows` rows."""
    return _at_hand.get() or Share(0, rows, rows)
