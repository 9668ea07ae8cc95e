"""The three ways to say same or different, checked and brought into one form.

    criterion(logits, labels)                        int (b,): every pair of the batch; -1 = unknown
    criterion(logits, same)                          float (b, b) in [0, 1]; NaN = unknown
    criterion(logits, same, pairs=pairs, weight=w)   pairs int (P, 2), same float (P,), weight (P,)

The first two become a `Grid`, read a tile at a time so that nothing of size b x b is made; the third a `Listing`. Who
has neither labels nor a matrix gives a `PairTable` in place of the matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from likewise.criteria.tables import LabelTable, MatrixTable, PairTable, places


@dataclass(slots=True)
class Listing:
    """Pairs one by one: items `left[p]` and `right[p]` are the same with probability `same[p]`, counted `weight[p]`."""

    left: Tensor  # int64 (P,)
    right: Tensor  # int64 (P,)
    same: Tensor  # (P,) in [0, 1]
    weight: Tensor  # (P,); 0 where the pair is unknown

    share: ClassVar[float] = 1.0

    def parts(self, outputs: int, dtype: torch.dtype, rank: int = 0, ranks: int = 1) -> Iterator[Listing]:
        """The same pairs, so many at a time that their probabilities take 16 MiB; of several ranks, those of one."""
        size = max(1, (1 << 22) // outputs)
        first, last = (len(self.left) * place // ranks for place in (rank, rank + 1))
        for start in range(first, last, size):
            end = min(start + size, last)
            same, weight = self.same[start:end].to(dtype), self.weight[start:end].to(dtype)
            yield Listing(self.left[start:end], self.right[start:end], same, weight)

    def count(self) -> float:
        return float(self.weight.sum())


@dataclass(slots=True)
class Tile:
    """Every item of `rows` with every item of `columns`.

    A tile on the diagonal is square and shows each pair twice, so it counts one half at each place. So does a
    self-pair, which thereby has the share of one among the b^2 ordered pairs.
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

    def count(self) -> float:
        """How many pairs there are, or the sum of their weights."""
        if self.weight is not None:
            total = float(self.weight.sum())
            own = float(self.weight.diagonal().sum()) if self.skips_diagonal else 0.0
        else:
            total, own = self.different.numel(), len(self.different) if self.skips_diagonal else 0.0
        return self.share * (total - own)


@dataclass(slots=True)
class Grid:
    """Every pair of the batch that its table knows."""

    items: int
    table: PairTable
    self_pairs: bool

    def parts(self, outputs: int, dtype: torch.dtype, rank: int = 0, ranks: int = 1) -> Iterator[Tile]:
        certain = self.table.certain
        for rows, columns in places(self.items, rank, ranks):
            square = rows == columns
            different, weight = self.table.tile(rows, columns)
            if different.dtype != dtype:
                different = different.to(dtype)
            weight = None if weight is None else weight.to(dtype)
            yield Tile(rows, columns, different, certain, weight, square, square and not self.self_pairs)


def read_target(
    logits: Tensor, same: Tensor | PairTable, pairs: Tensor | None, weight: Tensor | None, self_pairs: bool
) -> tuple[Tensor, Grid | Listing]:
    """Check a call and give the logits of the items that take part, with their target."""
    if logits.ndim != 2 or not logits.is_floating_point():
        raise ValueError(f"logits must be floats of shape (b, K), got {_describe(logits)}.")
    b, outputs = logits.shape
    if outputs < 2:
        raise ValueError("logits must have at least two outputs: with one, no two items can be different.")
    if not isinstance(same, Tensor):
        if pairs is not None or weight is not None:
            raise ValueError("A table has its pairs and their weights in it; leave out pairs and weight.")
        return logits, Grid(b, same, self_pairs)
    same = same.to(logits.device)
    if weight is not None:
        weight = weight.to(logits.device)
        if not bool((torch.isfinite(weight) & (weight >= 0)).all()):
            raise ValueError("weight must be finite and not negative; leave a pair out or give it 0 to ignore it.")
    if pairs is not None:
        return logits, _read_listing(b, same, pairs.to(logits.device), weight, self_pairs)
    if weight is not None and weight.shape != (b, b):
        raise ValueError(f"weight must have shape ({b}, {b}), one value a pair of the batch, got {_describe(weight)}.")
    if same.ndim == 2:
        if same.shape != (b, b):
            raise ValueError(f"same must have shape ({b}, {b}), one value a pair of the batch, got {_describe(same)}.")
        _check_range(same)
        return logits, Grid(b, MatrixTable(same, weight), self_pairs)
    return _read_labels(logits, same, weight, self_pairs)


def _read_labels(
    logits: Tensor, labels: Tensor, weight: Tensor | None, self_pairs: bool
) -> tuple[Tensor, Grid | Listing]:
    if labels.shape != logits.shape[:1] or labels.is_floating_point() or labels.is_complex():
        raise ValueError(
            f"The target must be integer labels ({len(logits)},), a matrix ({len(logits)}, {len(logits)}), "
            f"or come with pairs; got {_describe(labels)}."
        )
    least, most = labels.aminmax() if len(labels) else (0, 0)
    lowest = int(least)
    if lowest < -1:
        raise ValueError(f"labels must be -1 (unknown) or more, got {lowest}.")
    if lowest == -1:
        known = labels >= 0
        logits, labels = logits[known], labels[known]
        weight = None if weight is None else weight[known][:, known]
    if int(most) >= 1 << 24:  # more than float32 can count to
        labels = torch.unique(labels, return_inverse=True)[1]
    return logits, Grid(len(logits), LabelTable(labels.to(torch.float32), weight=weight), self_pairs)


def _read_listing(b: int, same: Tensor, pairs: Tensor, weight: Tensor | None, self_pairs: bool) -> Listing:
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.is_floating_point() or pairs.dtype == torch.bool:
        raise ValueError(f"pairs must be integers of shape (P, 2), got {_describe(pairs)}.")
    if same.shape != pairs.shape[:1]:
        raise ValueError(f"same must have shape ({len(pairs)},), one value a pair, got {_describe(same)}.")
    if weight is not None and weight.shape != same.shape:
        raise ValueError(f"weight must have shape ({len(pairs)},), one value a pair, got {_describe(weight)}.")
    if len(pairs) and (int(pairs.min()) < 0 or int(pairs.max()) >= b):
        raise ValueError(f"pairs must point at rows 0 to {b - 1}, got {int(pairs.min())} to {int(pairs.max())}.")
    _check_range(same)
    left, right = pairs.long().unbind(1)
    same = same.to(torch.float32) if not same.is_floating_point() else same
    counted = (~same.isnan()).to(same.dtype) if weight is None else weight * ~same.isnan()
    if not self_pairs:
        counted = counted * (left != right)
    return Listing(left, right, same.nan_to_num(0.0), counted)


def _check_range(same: Tensor) -> None:
    if same.dtype != torch.bool and bool(((same < 0) | (same > 1)).any()):
        outside = same[(same < 0) | (same > 1)].flatten()[0].item()
        raise ValueError(f"same must be between 0 (different) and 1 (same), or NaN for unknown, got {outside:g}.")


def _describe(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"
