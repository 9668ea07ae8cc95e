"""Which known classes are kept back, to calibrate a similarity and to learn how to count classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError

Whole = NDArray[np.int64]

ENOUGH_CLASSES = 10  # of which some can be spared; with fewer, items of each class are held out
MOST_ITEMS = 2000  # held out: their pairs are two million


@dataclass(frozen=True)
class Parts:
    """Positions of the items to train on and of those held out, with their classes."""

    train: Whole
    train_codes: Whole
    held_out: Whole
    held_out_codes: Whole
    kind: Literal["classes", "items"]


def hold_out_classes(codes: Whole, share: float, seed: int) -> Parts:
    """Hold out a share of the classes, at least two; where there are fewer than ten, a share of each one's items.

    >>> parts = hold_out_classes(np.repeat(np.arange(20), 3), 0.15, seed=0)
    >>> parts.kind, len(parts.train), len(set(parts.held_out_codes))
    ('classes', 51, 3)
    """
    if not 0 < share < 1:
        raise InputError(f"held_out must be a share between 0 and 1, got {share!r}.")
    random = np.random.default_rng(seed)
    n_classes = int(codes.max()) + 1
    if n_classes >= ENOUGH_CLASSES:
        chosen = random.permutation(n_classes)[: max(2, round(share * n_classes))]
        out = np.isin(codes, chosen)
        kind: Literal["classes", "items"] = "classes"
    else:
        order = random.permutation(len(codes))
        within = np.empty(len(codes), dtype=np.int64)  # how many of its class come before an item
        for name in range(n_classes):
            rows = order[codes[order] == name]
            within[rows] = np.arange(len(rows))
        size = np.bincount(codes, minlength=n_classes)
        out = within < np.maximum(2, np.round(share * size))[codes]
        kind = "items"
    held_out = np.flatnonzero(out)
    if len(held_out) > MOST_ITEMS:
        held_out = np.sort(random.permutation(held_out)[:MOST_ITEMS])
    train = np.flatnonzero(~out)
    left = np.bincount(codes[train], minlength=n_classes)
    if np.sum(left >= 2) < 2:
        raise InputError("The known classes are too small: two of them need two items or more besides those held out.")
    if np.bincount(codes[held_out]).max() < 2:
        raise InputError("The known classes that are held out have one item each, so that nothing is the same.")
    return Parts(train, codes[train], held_out, codes[held_out], kind)


def subpiles(codes: Whole, seed: int) -> list[tuple[Whole, int]]:
    """Piles out of the held-out items, of a quarter of the classes (twenty at least) and with all or fewer of the items
    of each, with their number of classes.

    What they have in common is what a rule for counting classes may depend on; what differs between them, it must allow
    for. Among very many classes some two are always alike: a rule for piles of some tens is learned from such piles.
    """
    random = np.random.default_rng(seed)
    names = np.unique(codes)
    piles = []
    for share_of_items in (1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25):
        some = random.permutation(names)[: max(20, len(names) // 4)]
        rows = np.flatnonzero(np.isin(codes, some))
        rows = np.sort(random.permutation(rows)[: max(2, round(share_of_items * len(rows)))])
        there = len(np.unique(codes[rows]))
        if 2 <= there < len(rows) / 2:
            piles.append((rows, there))
    return piles
