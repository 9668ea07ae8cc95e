"""Answers kept back from training, to tell how good the classifier is on pairs that it was not told about.

An answer that follows from the others is no test: the network was trained on what it says. So those are never held out,
and where nearly all of them follow (many answers about few items), whole items are held out with all their answers.
Whether an answer is right plays no part in this: of what is held out, as large a share is wrong as of all answers.
Those that contradict each other are to be repaired afterwards, among the kept ones alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from likewise.pairs import Pairs
from likewise.pairs.large import LEAST_HELD_OUT, MOST_HELD_OUT
from likewise.pairs.pair_keys import pair_keys


class Split(NamedTuple):
    kept: Pairs
    held_out: Pairs  # empty where too few could be held out


def hold_out(pairs: Pairs, share: float, seed: int, *, law: bool = True) -> Split:
    """Hold out at most this share of the answers, with both kinds among them.

    Without `law` nothing follows from chains of answers, which may be wrong: all answers about some pairs are held out.

    >>> kept, held_out = hold_out(Pairs.from_labels(np.arange(200) % 10, n=400), 0.1, seed=0)
    >>> len(kept) + len(held_out), len(held_out)
    (400, 39)
    """
    random = np.random.default_rng(seed)
    wanted = min(int(share * (pairs.weight > 0).sum()), MOST_HELD_OUT)
    split = _hold_out_answers(pairs, wanted, random) if law else _hold_out_pairs(pairs, wanted, random)
    if law and len(split.held_out) < wanted / 2:
        split = _hold_out_items(pairs, share, wanted, random)
    kinds = {bool(kind) for kind in split.held_out.same > 0.5}
    enough = len(split.held_out) >= LEAST_HELD_OUT and len(kinds) == 2 and len(split.kept) >= len(pairs) / 2
    return split if enough else Split(pairs, pairs.select(np.empty(0, dtype=np.int64)))


def _hold_out_answers(pairs: Pairs, wanted: int, random: np.random.Generator) -> Split:
    chosen = np.zeros(len(pairs), dtype=np.bool_)
    for kind in (pairs.same > 0.5, pairs.same <= 0.5):
        rows = np.flatnonzero(kind & (pairs.weight > 0) & (pairs.left != pairs.right))
        chosen[random.permutation(rows)[: round(wanted * len(rows) / max((pairs.weight > 0).sum(), 1))]] = True
    while True:  # more than once where answers contradict each other: one that goes back may join what was apart
        kept = pairs.select(~chosen)
        implied = ~np.isnan(kept.closure().answers_about(pairs.left[chosen], pairs.right[chosen]))
        if not implied.any():
            return Split(kept, pairs.select(chosen))
        chosen[chosen] = ~implied


def _hold_out_pairs(pairs: Pairs, wanted: int, random: np.random.Generator) -> Split:
    counts = (pairs.weight > 0) & (pairs.left != pairs.right)
    _, place, number = np.unique(
        pair_keys(pairs.left, pairs.right, pairs.n_items), return_inverse=True, return_counts=True
    )
    order = random.permutation(np.unique(place[counts]))
    chosen = counts & np.isin(place, order[np.cumsum(number[order]) <= wanted])
    return Split(pairs.select(~chosen), pairs.select(chosen))


def _hold_out_items(pairs: Pairs, share: float, wanted: int, random: np.random.Generator) -> Split:
    out = np.zeros(pairs.n_items, dtype=np.bool_)
    items = random.permutation(pairs.select(pairs.weight > 0).items)
    out[items[: max(2, int(share * len(items)))]] = True
    touched = out[pairs.left] | out[pairs.right]
    rows = np.flatnonzero(touched & (pairs.weight > 0) & (pairs.left != pairs.right))
    return Split(pairs.select(~touched), pairs.select(np.sort(random.permutation(rows)[:wanted])))
