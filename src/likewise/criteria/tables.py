"""What is known of all pairs of a batch, read a tile at a time: the whole (b, b) never has to be there.

A `PairTable` may take the place of the matrix in `mcl(logits, same)` and `kcl(logits, same)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import torch
from torch import Tensor


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
class Overlay:
    """The first table where it knows a pair, and elsewhere the second. If in that every pair counts 1, so it does here.

    >>> first = MatrixTable(torch.tensor([[torch.nan, 0], [0, torch.nan]]), torch.full((2, 2), 5.0))
    >>> Overlay(first, MatrixTable(torch.ones(2, 2))).tile(slice(0, 2), slice(0, 2))
    TableTile(different=tensor([[0., 1.],
            [1., 0.]]), weight=tensor([[1., 5.],
            [5., 1.]]))
    """

    first: PairTable
    second: PairTable

    @property
    def certain(self) -> bool:
        return self.first.certain and self.second.certain

    def tile(self, rows: slice, columns: slice) -> TableTile:
        first, second = self.first.tile(rows, columns), self.second.tile(rows, columns)
        if first.weight is None:
            return first
        known = first.weight > 0
        weight = None if second.weight is None else torch.where(known, first.weight, second.weight)
        return TableTile(torch.where(known, first.different, second.different), weight)


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


def known_pairs(table: PairTable, b: int) -> tuple[Tensor, Tensor, Tensor]:
    """The pairs i < j that a table knows, one by one: int (P, 2), same (P,) and weight (P,)."""
    cover = tiles_of(b) or ((slice(0, 0), slice(0, 0)),)
    pairs, same, weight = zip(*(_known_of(table, rows, columns) for rows, columns in cover), strict=True)
    return torch.cat(pairs), torch.cat(same), torch.cat(weight)


def _known_of(table: PairTable, rows: slice, columns: slice) -> tuple[Tensor, Tensor, Tensor]:
    different, weight = table.tile(rows, columns)
    different = _floats(different)
    weight = torch.ones_like(different) if weight is None else _floats(weight)
    i, j = (weight.triu(1) if rows == columns else weight).nonzero(as_tuple=True)
    return torch.stack([i + rows.start, j + columns.start], 1), 1 - different[i, j], weight[i, j]


def dense(table: PairTable, b: int) -> tuple[Tensor, Tensor | None]:
    """All of a table, for a small batch: same (b, b), NaN where unknown, and weight (b, b)."""
    different, weight = table.tile(slice(0, b), slice(0, b))
    same = 1 - _floats(different)
    return (same, None) if weight is None else (same.masked_fill(weight == 0, torch.nan), _floats(weight))


def _floats(tensor: Tensor) -> Tensor:
    return tensor if tensor.is_floating_point() else tensor.float()


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
