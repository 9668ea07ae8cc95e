"""Which known classes are kept back, to calibrate a similarity and to learn how to count classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import column_or_1d

from likewise.errors import InputError
from likewise.evaluation import Calibration, PairQuality, calibration, pair_quality, platt
from likewise.networks import SimilarityModule
from likewise.training import EmbeddedItems

Whole = NDArray[np.int64]

Kind = Literal["groups", "classes", "items"]

ENOUGH_GROUPS = 5  # of which one can be spared; with fewer, classes are held out
ENOUGH_CLASSES = 10  # of which some can be spared; with fewer, items of each class are held out
MOST_PAIRED = 2000  # items whose pairs are all looked at: two million


@dataclass(frozen=True)
class Parts:
    """Positions of the items to train on and of those held out, with their classes."""

    train: Whole
    train_codes: Whole
    held_out: Whole
    held_out_codes: Whole
    kind: Kind

    def to_pair(self, seed: int) -> tuple[Whole, Whole]:
        """Those of the held-out items whose pairs are looked at, and their classes: all of them, unless too many."""
        chosen = np.sort(np.random.default_rng(seed).permutation(len(self.held_out))[:MOST_PAIRED])
        return self.held_out[chosen], self.held_out_codes[chosen]


def group_of_each_class(codes: Whole, groups: ArrayLike) -> Whole:
    """The number of the group that each class belongs to, from a group for each item.

    >>> group_of_each_class(np.array([0, 0, 1, 2]), ["Greek", "Greek", "Latin", "Greek"])
    array([0, 1, 0])
    """
    numbers = np.unique(column_or_1d(groups), return_inverse=True)[1]
    if len(numbers) != len(codes):
        raise InputError(f"There are {len(codes)} items and {len(numbers)} groups; give one group per item.")
    group = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    group[codes] = numbers
    torn = np.flatnonzero(group[codes] != numbers)
    if len(torn):
        raise InputError(
            f"Items of one class, that of item {torn[0]}, are in two groups; a class must be in one, so that it can be "
            "held out with it."
        )
    return group


def hold_out_classes(codes: Whole, share: float, seed: int, group: Whole | None = None) -> Parts:
    """Hold out a share of the classes, at least two; where there are fewer than ten, a share of each one's items.

    `group` is the number of each class's group: where there are five groups or more, whole groups are held out.

    >>> parts = hold_out_classes(np.repeat(np.arange(20), 3), 0.15, seed=0)
    >>> parts.kind, len(parts.train), len(set(parts.held_out_codes))
    ('classes', 51, 3)
    """
    if not 0 < share < 1:
        raise InputError(f"held_out must be a share between 0 and 1, got {share!r}.")
    random = np.random.default_rng(seed)
    n_classes = int(codes.max()) + 1
    wanted = max(2, round(share * n_classes))
    kind: Kind
    if group is not None and len(np.unique(group)) >= ENOUGH_GROUPS:
        order = random.permutation(np.unique(group))
        enough = np.cumsum([np.sum(group == number) for number in order]) >= wanted
        out = np.isin(group, order[: int(enough.argmax()) + 1])[codes]
        kind = "groups"
    elif n_classes >= ENOUGH_CLASSES:
        out = np.isin(codes, random.permutation(n_classes)[:wanted])
        kind = "classes"
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
    train = np.flatnonzero(~out)
    left = np.bincount(codes[train], minlength=n_classes)
    if np.sum(left >= 2) < 2:
        raise InputError("The known classes are too small: two of them need two items or more besides those held out.")
    if np.bincount(codes[held_out]).max() < 2:
        raise InputError("The known classes that are held out have one item each, so that nothing is the same.")
    return Parts(train, codes[train], held_out, codes[held_out], kind)


def piles_to_count(codes: Whole, seed: int, group: Whole | None = None) -> list[tuple[Whole, int]]:
    """Piles out of the held-out items, with all or fewer of the items of each class, and their number of classes.

    Where groups were held out, each is a pile. Else a pile has a quarter of the classes, twenty at least: among very
    many classes some two are always alike, and a rule for piles of some tens is learned from such piles.
    """
    random = np.random.default_rng(seed)
    piles = []
    if group is not None:
        groups = [np.flatnonzero(group == number) for number in np.unique(group[codes])]
        chosen = [(some, share) for some in groups for share in (1, 0.5, 0.25)]
    else:
        names = np.unique(codes)
        quarter = max(20, len(names) // 4)
        chosen = [(random.permutation(names)[:quarter], share) for share in (1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25)]
    for some, share_of_items in chosen:
        rows = np.flatnonzero(np.isin(codes, some))
        rows = np.sort(random.permutation(rows)[: max(2, round(share_of_items * len(rows)))])
        n_classes = len(np.unique(codes[rows]))
        if 2 <= n_classes < len(rows) / 2:
            piles.append((rows, n_classes))
    return piles


def sample_of_each_class(codes: Whole, most: int, seed: int) -> Whole:
    """Positions of up to so many items, in rising order, with as many of each class as there is room for.

    >>> np.bincount(np.repeat([0, 1, 2], [100, 4, 50])[sample_of_each_class(np.repeat([0, 1, 2], [100, 4, 50]), 24, 0)])
    array([10,  4, 10])
    """
    order = np.random.default_rng(seed).permutation(len(codes))
    within = np.empty(len(codes), dtype=np.int64)  # how many of its class come before an item
    for name in np.unique(codes):
        rows = order[codes[order] == name]
        within[rows] = np.arange(len(rows))
    return np.sort(order[np.argsort(within[order], kind="stable")][:most])


def calibrate(module: SimilarityModule, seen: EmbeddedItems, codes: Whole) -> tuple[PairQuality, Calibration]:
    """Make what a module says of pairs probabilities, by items that it has not learned from, and measure them."""
    same = codes[:, None] == codes
    above = np.triu_indices(len(same), 1)
    for each in (module, seen.module):
        each.slope.fill_(1.0)
        each.offset.fill_(0.0)
    before = seen.probability().numpy()[above].clip(1e-7, 1 - 1e-7).astype(np.float64)
    slope, offset = platt(np.log(before) - np.log1p(-before), same[above])
    if slope <= 0:  # no better than chance: then every pair is as likely to be the same as any other
        slope, offset = 0.0, float(np.log(same[above].mean()) - np.log1p(-same[above].mean()))
    for each in (module, seen.module):
        each.slope.fill_(slope)
        each.offset.fill_(offset)
    after = seen.probability().numpy()[above]
    return pair_quality(after, same[above]), calibration(after, same[above])
