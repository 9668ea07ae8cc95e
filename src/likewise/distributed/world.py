"""The processes of a job: which of them this one is, how it joins and leaves, and which rows of a batch are its own."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta

import torch
from torch import distributed
from torch._C._distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

TIMEOUT = 60.0  # seconds that a process waits for the others before it takes them for lost

_normalised_together = False


@dataclass(frozen=True)
class World:
    """Process `rank` of `size`; with one, nothing is sent anywhere."""

    rank: int = 0
    size: int = 1
    sync_batch_norm: bool = False  # whether batch-norm normalises by the whole batch, or each rank by its own rows


def world() -> World:
    """This process as torch.distributed knows it; a world of one where that was not started.

    >>> world()
    World(rank=0, size=1, sync_batch_norm=False)
    """
    if not (distributed.is_available() and distributed.is_initialized()):
        return World()
    return World(distributed.get_rank(), distributed.get_world_size(), _normalised_together)


def join(*, sync_batch_norm: bool = False, init_method: str = "env://") -> World:
    """Join the processes that torchrun started (RANK, WORLD_SIZE, ...): by gloo on CPUs, by NCCL between GPUs.

    Give every process the same code: each then trains on its share of each batch, and the first alone writes files.

    Under `torchrun --nproc-per-node 2 script.py`, with `join()` in the script, each of the two processes learns from
    half of each batch. A job of one process has the same form:

    >>> import tempfile
    >>> os.environ |= {"RANK": "0", "WORLD_SIZE": "1"}
    >>> join(init_method=f"file://{tempfile.mkdtemp()}/store").size
    1
    >>> leave()
    >>> del os.environ["RANK"], os.environ["WORLD_SIZE"]
    """
    global _normalised_together
    _normalised_together = sync_batch_norm
    if not distributed.is_initialized():
        gpu = torch.cuda.is_available()
        if gpu:
            torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
        rank, size, timeout = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), timedelta(seconds=TIMEOUT)
        store, _, _ = next(iter(rendezvous(init_method, rank, size, timeout=timeout)))
        backend = "cpu:gloo,cuda:nccl" if gpu else "gloo"
        distributed.init_process_group(
            backend, store=_of_this_attempt(store), rank=rank, world_size=size, timeout=timeout
        )
        atexit.register(leave)
    return world()


def _of_this_attempt(store: Store) -> Store:
    """After a restart on one machine, torchrun's store still has the addresses of the processes that are gone.

    Over many machines their counts of restarts may differ; there its rendezvous "c10d" begins a new store each time.
    """
    environment = os.environ
    if environment.get("LOCAL_WORLD_SIZE") != environment["WORLD_SIZE"]:
        return store
    return PrefixStore(f"attempt {environment.get('TORCHELASTIC_RESTART_COUNT', '0')}", store)


def leave() -> None:
    """End this process's part in the job."""
    if distributed.is_initialized():
        distributed.destroy_process_group()


def is_first_to_tell() -> bool:
    """Whether no other process of the job has reported yet why it ends; always true for a single process."""
    if not distributed.is_initialized():
        return True
    try:
        return bool(distributed.distributed_c10d._get_default_store().add("told", 1) == 1)
    except RuntimeError:  # the first process, which kept the count, is gone, and its launcher knows
        return False


def is_lost(error: BaseException) -> bool:
    """Whether an error says that another process died or did not answer in time.

    >>> is_lost(RuntimeError("[gloo/transport/tcp/pair.cc:547] Connection closed by peer [127.0.0.1]:1234"))
    True
    >>> is_lost(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    False
    """
    if isinstance(error, distributed.DistError):
        return True
    signs = ("gloo/transport", "Connection closed by peer", "Application timeout caused pair closure", "NCCL")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


# Which rows of a batch are this rank's. Every rank walks through the same batches, but loads, augments and forwards
# only its own rows, which lie together. Where a batch has fewer than two rows per rank, each takes all of them:
# batch-norm needs two, and the work is next to nothing.


@dataclass(frozen=True)
class Share:
    """Rows `start` to `stop` - 1 of a batch of `n_rows` rows."""

    start: int
    stop: int
    n_rows: int
    rank: int = 0
    size: int = 1

    @property
    def rows(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def is_part(self) -> bool:
        """Whether other ranks have other rows."""
        return self.stop - self.start < self.n_rows

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
    """Inside, a batch of b rows is in use, of which this rank has its share; all ranks do the same things in here."""
    own = share(b)
    token = _at_hand.set(own)
    try:
        yield own
    finally:
        _at_hand.reset(token)


def current_share(rows: int = 0) -> Share:
    """The share in use; outside of `sharing`, all of `rows` rows."""
    return _at_hand.get() or Share(0, rows, rows)
