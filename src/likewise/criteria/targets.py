"""The three ways to say same or different, checked and brought into one form, which is read a tile at a time.

    criterion(logits, labels)                        int (b,): every pair of the batch; -1 or -100 = unknown
    criterion(logits, same)                          float (b, b) in [0, 1]; NaN = unknown
    criterion(logits, same, pairs=pairs, weight=w)   pairs int (P, 2), same float (P,), weight (P,)

The first two become a `Grid` over a `PairTable`, so that nothing of size b x b is made; the third a `Listing`. Who has
neither labels nor a matrix gives a `PairTable` in place of the matrix, in `mcl(logits, same)` and `kcl(logits, same)`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple, Protocol

import torch
from torch import Tensor

from likewise.unknown import UNKNOWN


class TableTile(NamedTuple):
    """What a table says of the pairs of some rows with some columns, both of them (rows, columns), for the reader to
    write over.
    """

    different: Tensor  # 1 - same; anything in [0, 1] where the weight is 0
    weight: Tensor | None  # 0 where the pair is unknown; None: every pair counts 1


class PairTable(Protocol):
    """The target of a batch. It is symmetric."""

    @property
    def certain(self) -> bool:
        """Whether same is 0 or 1 throughout, as it is from labels."""

    def tile(self, rows: slice, columns: slice) -> TableTile:
        """What is said of these pairs."""


@dataclass(slots=True)  # not frozen, which takes as long to make as to read in a small batch
class LabelTable:
    """The pairs with equal labels are the same."""

    labels: Tensor  # (b,) whole numbers as float32, which compare several times faster than int64
    item_weight: Tensor | None = None  # (b,): a pair counts the product of its items' weights
    weight: Tensor | None = None  # (b, b)

    certain = True

    def tile(self, rows: slice, columns: slice) -> TableTile:
        """
        >>> LabelTable(torch.tensor([4.0, 4, 7])).tile(slice(0, 2), slice(1, 3)).different
        tensor([[0., 1.],
                [0., 1.]])
        """
        different = (take(self.labels, rows).unsqueeze(1) - take(self.labels, columns)).ne_(0)
        weight = None if self.weight is None else both_ways(self.weight, rows, columns)
        if self.item_weight is not None:
            product = torch.outer(self.item_weight[rows], self.item_weight[columns])
            weight = product if weight is None else weight * product
        return TableTile(different, weight)


@dataclass(frozen=True, slots=True)
class MatrixTable:
    """A matrix may hold one answer for (i, j) and another for (j, i): the pair's target is their mean, and its weight
    is halved where only one of the two is known.
    """

    same: Tensor  # (b, b) in [0, 1] or NaN
    weight: Tensor | None = None  # (b, b), or None: every known pair counts 1

    certain = False

    def tile(self, rows: slice, columns: slice) -> TableTile:
        dtype = torch.float64 if self.same.dtype == torch.float64 else torch.float32
        total = agree = torch.zeros((), dtype=dtype, device=self.same.device)
        for first, second, turned in ((rows, columns, False), (columns, rows, True)):
            same = self.same[first, second].to(dtype)
            weight = (~same.isnan()).to(dtype)
            if self.weight is not None:
                weight = weight * self.weight[first, second].to(dtype)
            answers = same.nan_to_num(0.0) * weight
            total = total + (weight.T if turned else weight)
            agree = agree + (answers.T if turned else answers)
        return TableTile(1 - agree / total.clamp_min(torch.finfo(dtype).tiny), total / 2)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A table, of which each pair i <= j counts so many times as much."""

    table: PairTable
    factor: Tensor  # (b, b), on and above the diagonal

    @property
    def certain(self) -> bool:
        return self.table.certain

    def tile(self, rows: slice, columns: slice) -> TableTile:
        tile, factor = self.table.tile(rows, columns), self.factor[rows, columns]
        factor = factor.triu() + factor.triu(1).T if rows == columns else factor
        return TableTile(tile.different, factor if tile.weight is None else tile.weight * factor)


def both_ways(matrix: Tensor, rows: slice, columns: slice) -> Tensor:
    """The mean of (i, j) and (j, i)."""
    return (matrix[rows, columns] + matrix[columns, rows].T) / 2


def take(tensor: Tensor, rows: slice) -> Tensor:
    """`tensor[rows]`, which in a small batch is all of it, and slicing would cost as much as computing."""
    return tensor if rows.stop - rows.start == tensor.shape[0] else tensor[rows]


ROWS, COLUMNS = 256, 1024  # a tile of floats is 1 MiB: the handful in use stay in the cache


@lru_cache(maxsize=64)
def tiles_of(b: int, rank: int = 0, ranks: int = 1) -> tuple[tuple[slice, slice], ...]:
    """Rows and columns of the tiles that cover the pairs of b items, on and above the diagonal (s_hat is symmetric).

    Several ranks cover them together. Their rows are dealt out back and forth, because the first have most columns.

    >>> tiles_of(300)
    ((slice(0, 256, None), slice(0, 256, None)), (slice(0, 256, None), slice(256, 300, None)),
     (slice(256, 300, None), slice(256, 300, None)))
    >>> [[rows.start for rows, columns in tiles_of(100, rank, 2) if rows == columns] for rank in range(2)]
    [[0, 75], [25, 50]]
    """
    cover = []
    height = ROWS if ranks == 1 else min(ROWS, max(1, -(-b // (2 * ranks))))
    for number, start in enumerate(range(0, b, height)):
        turn = number % (2 * ranks)
        if min(turn, 2 * ranks - 1 - turn) != rank:
            continue
        rows = slice(start, min(start + height, b))
        cover.append((rows, rows))
        cover += [(rows, slice(c, min(c + COLUMNS, b))) for c in range(rows.stop, b, COLUMNS)]
    return tuple(cover)


@dataclass(slots=True)
class Listing:
    """Pairs one by one: items `left[p]` and `right[p]` are the same with probability `same[p]`, counted `weight[p]`."""

    left: Tensor  # int64 (P,)
    right: Tensor  # int64 (P,)
    same: Tensor  # (P,) in [0, 1]
    weight: Tensor  # (P,); 0 where the pair is unknown
    start: int = 0  # of a part: where it begins in the whole

    share: ClassVar[float] = 1.0

    def parts(self, outputs: int, dtype: torch.dtype, rank: int = 0, ranks: int = 1) -> Iterator[Listing]:
        """The same pairs, so many at a time that their probabilities take 16 MiB; of several ranks, those of one."""
        size = max(1, (1 << 22) // outputs)
        first, last = (len(self.left) * place // ranks for place in (rank, rank + 1))
        for start in range(first, last, size):
            end = min(start + size, last)
            same, weight = self.same[start:end].to(dtype), self.weight[start:end].to(dtype)
            yield Listing(self.left[start:end], self.right[start:end], same, weight, start)

    def count(self) -> Tensor:
        return self.weight.sum()

    def times(self, factor: Tensor) -> Listing:
        """The same pairs, each with its weight times a factor, (P,)."""
        return replace(self, weight=self.weight * factor)


@dataclass(slots=True)
class Tile:
    """Every item of `rows` with every item of `columns`.

    A tile on the diagonal is square and shows each pair twice, so it counts one half at each place. So does a
    self-pair, which thus has the share of one among the b^2 ordered pairs.
    """

    rows: slice
    columns: slice
    different: Tensor  # (rows, columns), 1 - same
    certain: bool  # whether same is 0 or 1 throughout, as it is from labels
    weight: Tensor | None  # (rows, columns), 0 where the pair is unknown; None: every pair counts 1
    square: bool
    skips_diagonal: bool

    @property
    def share(self) -> float:
        """What each place of the tile counts."""
        return 0.5 if self.square else 1.0

    def count(self) -> float | Tensor:
        """How many pairs there are, or the sum of their weights."""
        if self.weight is None:
            return self.share * (self.different.numel() - (self.different.shape[0] if self.skips_diagonal else 0))
        total = self.weight.sum()
        return self.share * (total - self.weight.diagonal().sum() if self.skips_diagonal else total)


@dataclass(slots=True)
class Grid:
    """Every pair of the batch that its table knows."""

    items: int
    table: PairTable
    self_pairs: bool

    def parts(self, outputs: int, dtype: torch.dtype, rank: int = 0, ranks: int = 1) -> Iterator[Tile]:
        certain = self.table.certain
        for rows, columns in tiles_of(self.items, rank, ranks):
            square = rows == columns
            different, weight = self.table.tile(rows, columns)
            if different.dtype != dtype:
                different = different.to(dtype)
            weight = None if weight is None else weight.to(dtype)
            yield Tile(rows, columns, different, certain, weight, square, square and not self.self_pairs)

    def times(self, factor: Tensor) -> Grid:
        """The same pairs, each with its weight times a factor: (b, b), on and above the diagonal."""
        return replace(self, table=Scaled(self.table, factor))


class Call(NamedTuple):
    """A call, checked: the logits of the items that take part, (m, K), and their target."""

    logits: Tensor
    target: Grid | Listing
    rows: Tensor | None = None  # int64 (m,): which of the batch they are; None: all


def read_call(
    logits: Tensor, same: Tensor | PairTable, pairs: Tensor | None, weight: Tensor | None, self_pairs: bool
) -> Call:
    """Check a call in any of the three forms; values are looked at together, so that the host waits once."""
    if logits.ndim != 2 or not logits.is_floating_point():
        raise ValueError(f"logits must be floats of shape (b, K), got {_describe(logits)}.")
    b, outputs = logits.shape
    if outputs < 2:
        raise ValueError("logits must have at least two outputs: with one, no two items can be different.")
    if not isinstance(same, Tensor):
        if pairs is not None or weight is not None:
            raise ValueError("A table has its pairs and their weights in it; leave out pairs and weight.")
        return Call(logits, Grid(b, same, self_pairs))
    if torch._C._are_functorch_transforms_active() and any(
        argument is not None and torch._C._functorch.is_batchedtensor(argument) for argument in (same, pairs, weight)
    ):
        raise ValueError("vmap may map over the logits alone; write a loop where targets, pairs or weights differ.")
    same = same.to(logits.device)
    weight = None if weight is None else weight.to(logits.device)
    if pairs is not None:
        return Call(logits, _read_listing(b, same, pairs.to(logits.device), weight, self_pairs))
    if weight is not None and weight.shape != (b, b):
        raise ValueError(
            f"weight must have shape ({b}, {b}), one value per pair of the batch, got {_describe(weight)}."
        )
    if same.ndim == 2:
        if same.shape != (b, b):
            raise ValueError(
                f"same must have shape ({b}, {b}), one value per pair of the batch, got {_describe(same)}."
            )
        _check_values(same, weight)
        return Call(logits, Grid(b, MatrixTable(same, weight), self_pairs))
    return _read_labels(logits, same, weight, self_pairs)


def scatter(losses: Tensor, rows: Tensor, b: int) -> Tensor:
    """The losses of the pairs of some rows, (m, m), at their places in the batch, (b, b), with zeros elsewhere."""
    return losses.new_zeros(b, b).index_put((rows[:, None], rows), losses)


def _read_labels(logits: Tensor, labels: Tensor, weight: Tensor | None, self_pairs: bool) -> Call:
    if labels.shape != logits.shape[:1] or labels.is_floating_point() or labels.is_complex():
        raise ValueError(
            f"The target must be integer labels ({len(logits)},), a matrix ({len(logits)}, {len(logits)}), "
            f"or come with pairs; got {_describe(labels)}."
        )
    if weight is not None:
        _check_values(None, weight)
    least, most = torch.stack(labels.aminmax()).tolist() if labels.shape[0] else (0, 0)
    rows = None
    if least < 0:
        rows = (labels >= 0).nonzero().flatten()
        strange = labels[(labels < 0) & (labels != UNKNOWN[0]) & (labels != UNKNOWN[1])]
        if len(strange):
            raise ValueError(f"labels must be 0 or more, or -1 or -100 where unknown, got {int(strange[0])}.")
        logits, labels = logits[rows], labels[rows]
        weight = None if weight is None else weight[rows[:, None], rows]
    if most >= 1 << 24:  # more than float32 can count to
        labels = torch.unique(labels, return_inverse=True)[1]
    return Call(logits, Grid(logits.shape[0], LabelTable(labels.to(torch.float32), weight=weight), self_pairs), rows)


def _read_listing(b: int, same: Tensor, pairs: Tensor, weight: Tensor | None, self_pairs: bool) -> Listing:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point() or pairs.dtype == torch.bool:
        raise ValueError(f"pairs must be integers of shape (P, 2), got {_describe(pairs)}.")
    if same.shape != pairs.shape[:1]:
        raise ValueError(f"same must have shape ({len(pairs)},), one value per pair, got {_describe(same)}.")
    if weight is not None and weight.shape != same.shape:
        raise ValueError(f"weight must have shape ({len(pairs)},), one value per pair, got {_describe(weight)}.")
    pairs = pairs.long()
    _check_values(same, weight, pairs, b)
    left, right = pairs.unbind(1)
    same = same.to(torch.float32) if not same.is_floating_point() else same
    counted = (~same.isnan()).to(same.dtype) if weight is None else weight * ~same.isnan()
    if not self_pairs:
        counted = counted * (left != right)
    return Listing(left, right, same.nan_to_num(0.0), counted)


def _check_values(same: Tensor | None, weight: Tensor | None, pairs: Tensor | None = None, b: int = 0) -> None:
    """Refuse values outside their range; what is wrong is looked for only where something is."""
    faults = []
    if same is not None:
        faults.append(((same < 0) | (same > 1)).any())
    if weight is not None:
        faults.append((~torch.isfinite(weight) | (weight < 0)).any())
    if pairs is not None:
        faults.append(((pairs < 0) | (pairs >= b)).any())
    if not bool(torch.stack(faults).any()):
        return
    if weight is not None and bool((~torch.isfinite(weight) | (weight < 0)).any()):
        raise ValueError("weight must be finite and not negative; leave a pair out or give it 0 to ignore it.")
    if pairs is not None and bool(((pairs < 0) | (pairs >= b)).any()):
        raise ValueError(f"pairs must point at rows 0 to {b - 1}, got {int(pairs.min())} to {int(pairs.max())}.")
    assert same is not None
    outside = same[(same < 0) | (same > 1)].flatten()[0].item()
    raise ValueError(f"same must be between 0 (different) and 1 (same), or NaN for unknown, got {outside:g}.")


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
