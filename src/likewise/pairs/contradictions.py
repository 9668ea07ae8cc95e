"""Contradictions: an answer "different", and the shortest chain of answers "same" that denies it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from likewise.pairs.chains import Chains
from likewise.pairs.closure import told
from likewise.pairs.keys import keys

if TYPE_CHECKING:
    from likewise.pairs.pairs import Pairs

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Contradiction:
    """Answers that cannot all be right, while without any one of them the others could.

    >>> print(Contradiction(items=("a", "b", "c"), rows=(2, 7, 15), lines=(4, 9, 17), unit="line"))
    a=b, b=c, but a!=c; lines 4, 9, 17
    """

    items: tuple[str, ...]  # along the chain
    rows: tuple[int, ...]  # of the "same" answers along the chain, and at the end of the "different" answer
    lines: tuple[int, ...]  # of these rows in the file
    unit: str = "row"

    def __str__(self) -> str:
        return self.text()

    def text(self, most_links: int | None = None) -> str:
        """In one line, the middle of a longer chain left out."""
        links = [f"{left}={right}" for left, right in pairwise(self.items)]
        lines = [str(line) for line in self.lines]
        if most_links is not None and len(links) > most_links:
            some = slice(most_links // 2, len(links) - (most_links - most_links // 2))
            links[some], lines[some] = [f"... {some.stop - some.start:,} more ..."], ["..."]
        broken = f"{self.items[0]}!={self.items[-1]}"
        where = f"{self.unit}{'s' if len(lines) > 1 else ''} {', '.join(lines)}"
        return f"{', '.join(links)}, but {broken}; {where}" if links else f"{broken}; {where}"


def find_contradictions(pairs: Pairs, limit: int | None = None) -> list[Contradiction]:
    """One for each "different" answer between two items of one component, in the order of the answers."""
    closure = pairs.closure()
    said_same, said_different = told(pairs)
    inside = said_different & (closure.component[pairs.left] == closure.component[pairs.right])
    broken = np.flatnonzero(inside)[:limit]
    if not len(broken):
        return []

    contradicted = np.zeros(closure.n_components, dtype=np.bool_)
    contradicted[closure.component[pairs.left[broken]]] = True
    rows = np.flatnonzero(said_same & contradicted[closure.component[pairs.left]])  # the others are in no chain
    left, right, n = pairs.left[rows], pairs.right[rows], pairs.n_items
    chains = _chains(Chains(left, right, n), pairs.left[broken], pairs.right[broken])
    links, first = np.unique(keys(left, right, n), return_index=True)
    first_row = rows[first]  # that answers "same" for each link

    found = []
    for row, chain in zip(broken.tolist(), chains, strict=True):
        items = np.array(chain)
        proof = np.append(first_row[np.searchsorted(links, keys(items[:-1], items[1:], n))], row)
        names = tuple(pairs.name(item) for item in chain)
        lines = tuple(pairs.lines[proof].tolist())
        found.append(Contradiction(names, tuple(proof.tolist()), lines, pairs.source.unit))
    return found


def _chains(graph: Chains, left: Ints, right: Ints) -> list[list[int]]:
    """A chain for each pair; those with the same left item are searched for together."""
    order = np.argsort(left, kind="stable")
    sources, starts = np.unique(left[order], return_index=True)
    chains: list[list[int]] = [[]] * len(left)
    for source, group in zip(sources.tolist(), np.split(order, starts[1:]), strict=True):
        for place, chain in zip(group.tolist(), graph.between(source, right[group].tolist()), strict=True):
            chains[place] = chain
    return chains
