"""Tables of pairs: one laid over another, and what a table knows, pair by pair or all at once."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from likewise.criteria.targets import PairTable, TableTile, tiles_of


@dataclass(frozen=True, slots=True)
class Overlay:
    """The first table where it knows a pair, and elsewhere the second. If in that every pair counts 1, so it does here.

    >>> from likewise.criteria import MatrixTable
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
