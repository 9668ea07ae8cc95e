"""The items seen in one space, before anybody is asked: neighbours, where a walk among them puts each, and atoms.

An atom is a small cluster of items that hardly any question needs to tell apart. Classes are made of atoms by joining
(`partition.py`); single items leave them one by one (`membership.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from likewise.clustering.agglomeration import principal_rows, small_clusters
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.geometry import diffusion, members, shared_neighbours
from likewise.querying.neighbours import near_items

NEIGHBOURS = 10
COMPONENTS = 50  # principal ones, in which neighbours are near
ATOM = 8  # items in one, about
LEAST_ATOMS, MOST_ATOMS = 60, 250  # joining them takes the square of it
PLACES = 30  # numbers that say where the walk puts an item
SHARED = 0.5  # of an answer about an atom, by those around it
CENTRAL = 3  # items of an atom that stand for it


@dataclass(frozen=True, eq=False)
class View:
    name: str
    near: Ints  # (n, k) nearest other items, nearest first
    graph: csr_array  # (n, n) shared neighbours
    places: Floats  # (n, d) of length 1
    atom: Ints  # (n,)
    n_atoms: int

    @cached_property
    def sizes(self) -> Floats:
        return np.bincount(self.atom, minlength=self.n_atoms).astype(np.float64)

    @cached_property
    def links(self) -> Floats:
        """(M, M) Between atoms."""
        belongs = members(self.atom, self.n_atoms)
        return np.asarray((belongs.T @ self.graph @ belongs).toarray())

    @cached_property
    def degree(self) -> Floats:
        """(M,) Of each atom."""
        return np.asarray(self.links.sum(axis=1))

    @cached_property
    def like(self) -> Floats:
        """(M, M) How an answer about an atom (column) is shared among it and the atoms around it; columns sum to 1."""
        links = self.links - np.diag(np.diag(self.links))
        total = links.sum(axis=0)
        shared = np.where(total > 0, SHARED, 0.0)
        return np.asarray(np.diag(1 - shared) + shared * links / np.where(total > 0, total, 1.0))

    @cached_property
    def sums(self) -> Floats:
        """(M, d) Of the places in each atom."""
        return np.asarray(members(self.atom, self.n_atoms).T @ self.places)

    @cached_property
    def centrality(self) -> Floats:
        """(n,) How near each item is to the mean of its atom, as a cosine."""
        mean = self.sums / np.maximum(np.linalg.norm(self.sums, axis=1, keepdims=True), 1e-12)
        return np.asarray((self.places * mean[self.atom]).sum(axis=1))

    @cached_property
    def rank(self) -> Ints:
        """(n,) 0 for the most central item of each atom, 1 for the next, ..."""
        order = np.lexsort((-self.centrality, self.atom))
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - starts[self.atom[order]]
        return rank

    @cached_property
    def vote(self) -> csr_array:
        """(n, M) The share of an item's links that lead to each atom, the item's own place counted too."""
        links = self.graph @ members(self.atom, self.n_atoms)
        total = np.maximum(np.asarray(links.sum(axis=1)).ravel(), 1e-12)
        links = csr_array(links)
        links.data = links.data / np.repeat(total, np.diff(links.indptr))
        return links


def see(name: str, rows: Floats, seed: int) -> View:
    """The view of two items or more."""
    n = len(rows)
    if np.ptp(rows, axis=0).max(initial=0.0) == 0:  # all the same
        near = (np.arange(n)[:, None] + np.arange(1, min(NEIGHBOURS, n - 1) + 1)) % n
        return View(name, near, shared_neighbours(near), np.ones((n, 1)), np.zeros(n, dtype=np.int64), 1)
    rows = principal_rows(rows, seed)[:, :COMPONENTS]
    near = near_items(rows, min(NEIGHBOURS, n - 1), seed)
    graph = shared_neighbours(near)
    places = diffusion(graph, min(n - 1, PLACES)) if n > 2 else np.eye(2)
    atom = small_clusters(places, int(np.clip(n // ATOM, min(n, LEAST_ATOMS), MOST_ATOMS)), 1, seed)
    return View(name, near, graph, places, atom, int(atom.max()) + 1)
