"""Groups of a batch: items that are known to be the same, and which groups are known to be different.

Same is transitive, so the groups are the components of the pairs that are the same. A group counts as different from
another where one pair between them does.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from likewise.criteria.tables import LabelTable, PairTable, known_pairs
from likewise.criteria.targets import Grid, Listing


class Groups(NamedTuple):
    """The groups of b items, numbered from 0."""

    place: Tensor  # int64 (b,): the group of each item; -1 where nothing is known of an item
    different: Tensor  # bool (G, G), symmetric: which groups are known to be different


@runtime_checkable
class Grouped(Protocol):
    """A table that knows its groups and need not be read pair by pair."""

    def groups(self) -> Groups: ...


def groups_of(target: Grid | Listing, b: int) -> Groups:
    """The groups of the b items of a checked call."""
    if isinstance(target, Listing):
        counted = target.weight > 0
        return _components(b, target.left[counted], target.right[counted], target.same[counted])
    return groups_of_table(target.table, b)


def groups_of_table(table: PairTable, b: int) -> Groups:
    """The groups of the b items that a table speaks of.

    >>> groups_of_table(LabelTable(torch.tensor([4.0, 4, 7])), 3)
    Groups(place=tensor([0, 0, 1]), different=tensor([[False,  True],
            [ True, False]]))
    """
    if isinstance(table, Grouped):
        return table.groups()
    if isinstance(table, LabelTable) and table.weight is None:
        known = torch.ones_like(table.labels) if table.item_weight is None else table.item_weight
        place = torch.full((b,), -1, device=table.labels.device)
        names, place[known > 0] = torch.unique(table.labels[known > 0], return_inverse=True)
        return Groups(place, ~torch.eye(len(names), dtype=torch.bool, device=place.device))
    pairs, same, _ = known_pairs(table, b)
    return _components(b, pairs[:, 0], pairs[:, 1], same)


def _components(b: int, left: Tensor, right: Tensor, same: Tensor) -> Groups:
    """From pairs one by one; a pair that is as likely same as different says nothing."""
    i, j, s = (each.cpu().numpy() for each in (left, right, same))
    alike, unlike = s > 0.5, s < 0.5
    graph = coo_array((np.ones(int(alike.sum())), (i[alike], j[alike])), shape=(b, b))
    n, component = connected_components(graph, directed=False)
    spoken_of = np.zeros(b, dtype=bool)
    spoken_of[i[s != 0.5]] = spoken_of[j[s != 0.5]] = True
    different = np.zeros((n, n), dtype=bool)
    different[component[i[unlike]], component[j[unlike]]] = True
    different |= different.T
    np.fill_diagonal(different, False)  # a chain of "same" has the last word, as in the closure of answers
    place = np.where(spoken_of, component, -1)
    return Groups(torch.from_numpy(place).long().to(left.device), torch.from_numpy(different).to(left.device))
