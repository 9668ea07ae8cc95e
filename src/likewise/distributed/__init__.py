"""One training step over many processes: who we are, which rows are ours, and what is gathered and added up."""

from likewise.distributed.batch_norm import batch_norm_across_ranks
from likewise.distributed.collectives import (
    Traffic,
    agreed,
    all_gather,
    all_reduce,
    barrier,
    from_first,
    gather_batch,
    is_close,
    is_common,
    reduce_batch,
    traffic,
)
from likewise.distributed.shares import Share, current_share, share, sharing
from likewise.distributed.world import TIMEOUT, World, is_first_to_tell, is_lost, join, leave, world

__all__ = [
    "TIMEOUT",
    "Share",
    "Traffic",
    "World",
    "agreed",
    "all_gather",
    "all_reduce",
    "barrier",
    "batch_norm_across_ranks",
    "current_share",
    "from_first",
    "gather_batch",
    "is_close",
    "is_common",
    "is_first_to_tell",
    "is_lost",
    "join",
    "leave",
    "reduce_batch",
    "share",
    "sharing",
    "traffic",
    "world",
]
