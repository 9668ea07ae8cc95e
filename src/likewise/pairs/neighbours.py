"""Pairs of points that are near or far: all of them where they are few, else some drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from likewise.pairs.keys import distinct
from likewise.pairs.sampling import distinct_numbers, n_pairs, number_of_pair, pair_numbered

LISTED = 10_000_000  # near pairs that are all listed, even where only some of them are wanted
TRIES = 20_000_000  # pairs that are looked at in the search for others
AT_ONCE = 1_000_000

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Both = tuple[Ints, Ints]


def near_pairs(points: Floats, within: float, max_pairs: int, random: np.random.Generator) -> Both:
    """Pairs i < j at most `within` apart, of points (n, d)."""
    n, tree = len(points), cKDTree(points)
    total = (int(tree.count_neighbors(tree, within)) - n) // 2
    if total <= max(LISTED, max_pairs):
        listed = np.sort(number_of_pair(*tree.query_pairs(within, output_type="ndarray").T.astype(np.int64)))
        return pair_numbered(_some(listed, max_pairs, random))
    around = 2 * total / n  # near points of a point
    if around * min(n, max_pairs) > max_pairs * n / around:  # what is listed below, and what would be tried
        return _search(points, lambda distance: distance <= within, max_pairs, random)
    return _drawn_neighbours(tree, points, within, max_pairs, random)


def far_pairs(points: Floats, beyond: float, max_pairs: int, random: np.random.Generator) -> Both:
    """Pairs i < j more than `beyond` apart, of points (n, d); fewer than there are where they are rare among many."""
    return _search(points, lambda distance: distance > beyond, max_pairs, random)


def _search(
    points: Floats, wanted: Callable[[Floats], NDArray[np.bool_]], max_pairs: int, random: np.random.Generator
) -> Both:
    """Look at all pairs where they are few, else at some drawn at random."""
    total = n_pairs(len(points))
    found, n_found, tried = [np.empty(0, dtype=np.int64)], 0, 0
    while tried < min(total, TRIES) and (n_found < max_pairs or total <= TRIES):
        step = min(AT_ONCE, total - tried)
        number = tried + np.arange(step) if total <= TRIES else random.integers(total, size=step)
        i, j = pair_numbered(number)
        number = number[wanted(np.linalg.norm(points[i] - points[j], axis=1))]
        found.append(number)
        n_found += len(number)
        tried += step
    return pair_numbered(_some(distinct(np.concatenate(found)), max_pairs, random))


def _drawn_neighbours(
    tree: cKDTree, points: Floats, within: float, max_pairs: int, random: np.random.Generator
) -> Both:
    """Draw from the neighbours of all points, which are counted but listed only for the points that are drawn."""
    counts: Ints = np.asarray(tree.query_ball_point(points, within, return_length=True)) - 1  # not the point itself
    ends = np.cumsum(counts)
    drawn = np.sort(distinct_numbers(int(ends[-1]), max_pairs, random))
    i = np.searchsorted(ends, drawn, side="right")
    place = drawn - (ends - counts)[i]
    drawn_points = distinct(i)
    portion = np.cumsum(counts[drawn_points]) // AT_ONCE
    j = np.empty_like(i)
    for which in np.unique(portion):
        chosen = drawn_points[portion == which]
        lists = tree.query_ball_point(points[chosen], within, return_sorted=True)
        listed = np.concatenate(lists).astype(np.int64)
        starts = np.cumsum(counts[chosen] + 1) - counts[chosen] - 1
        rows = slice(np.searchsorted(i, chosen[0]), np.searchsorted(i, chosen[-1], side="right"))
        at = starts[np.searchsorted(chosen, i[rows])] + place[rows]
        j[rows] = np.where(listed[at] < i[rows], listed[at], listed[np.minimum(at + 1, len(listed) - 1)])  # skip itself
    return pair_numbered(distinct(number_of_pair(np.minimum(i, j), np.maximum(i, j))))


def _some(numbers: Ints, most: int, random: np.random.Generator) -> Ints:
    if len(numbers) <= most:
        return numbers
    return np.sort(numbers[distinct_numbers(len(numbers), most, random)])
