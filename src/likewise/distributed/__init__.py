"""One training step over many processes: who we are, which rows are ours, and what is gathered and added up."""

from likewise.distributed.batch_norm import batch_norm_across_ranks
from likewise.distributed.collectives import (
    add_up,
    agreed,
    concatenated,
    from_first,
    is_close,
    is_common,
    summed,
    wait_for_all,
    whole,
)
from likewise.distributed.shares import Share, share, share_at_hand, sharing
from likewise.distributed.traffic import Traffic, traffic
from likewise.distributed.world import TIMEOUT, World, is_first_to_tell, is_lost, join, leave, world

__all__ = [
    "TIMEOUT",
    "Share",
    "Traffic",
    "World",
    "add_up",
    "agreed",
    "batch_norm_across_ranks",
    "concatenated",
    "from_first",
    "is_close",
    "is_common",
    "is_first_to_tell",
    "is_lost",
    "join",
    "leave",
    "share",
    "share_at_hand",
    "sharing",
    "summed",
    "traffic",
    "wait_for_all",
    "whole",
    "world",
]
