"""Answers without people (section 4.2 of the paper): neighbours in time and in space, and links of a graph.

    time    frames of a film that are close in time show the same; those far apart, something else
    space   places, or the patches of one image, that lie side by side show the same
    graph   linked people, pages or papers are alike

Such answers are right more often than not, and no more. What is near enough for "same", and far enough for "different",
is the caller's knowledge. Of each kind at most `max_pairs` are kept, drawn at random where there are more. No list of
all n^2 pairs is ever made.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from likewise.errors import InputError
from likewise.pairs.pair_keys import distinct, distinct_numbers, n_pairs, number_of_pair, pair_numbered
from likewise.pairs.pairs import Pairs

# Pairs of points that are near or far: all of them where they are few, else some drawn at random.

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
    """Check all pairs where they are few, else some drawn at random."""
    total = n_pairs(len(points))
    kept, n_kept, tried = [np.empty(0, dtype=np.int64)], 0, 0
    while tried < min(total, TRIES) and (n_kept < max_pairs or total <= TRIES):
        step = min(AT_ONCE, total - tried)
        number = tried + np.arange(step) if total <= TRIES else random.integers(total, size=step)
        i, j = pair_numbered(number)
        number = number[wanted(np.linalg.norm(points[i] - points[j], axis=1))]
        kept.append(number)
        n_kept += len(number)
        tried += step
    return pair_numbered(_some(distinct(np.concatenate(kept)), max_pairs, random))


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


MAX_PAIRS = 1_000_000

Seed = int | np.random.Generator | None


def from_time(
    times: ArrayLike,
    same_within: Any,
    different_beyond: Any = None,
    max_pairs: int = MAX_PAIRS,
    random_state: Seed = 0,
) -> Pairs:
    """Same: at most `same_within` apart in time. Different: more than `different_beyond` apart, where that is given.

    Times are numbers, such as frames or seconds, or dates, and then the two spans are timedeltas.

    >>> pairs = from_time([0, 1, 2, 60], same_within=1, different_beyond=30)
    >>> np.stack([pairs.left, pairs.right, pairs.same], 1).astype(int).tolist()
    [[0, 1, 1], [1, 2, 1], [0, 3, 0], [1, 3, 0], [2, 3, 0]]
    """
    values = _times(times)
    if values.dtype.kind == "M":
        same_within, different_beyond = _timedelta(same_within), _timedelta(different_beyond)
    _check_spans(same_within, different_beyond, 0 * same_within)
    random = np.random.default_rng(random_state)
    order = np.argsort(values, kind="stable")
    values = values[order]
    end = np.full(len(values), len(values))
    near = np.searchsorted(values, values + same_within, side="right")
    same = _ranges(order, np.arange(len(values)) + 1, near, max_pairs, random)
    if different_beyond is None:
        return _pairs(same, _none(), len(values))
    far = np.searchsorted(values, values + different_beyond, side="right")
    return _pairs(same, _ranges(order, far, end, max_pairs, random), len(values))


def from_space(
    coordinates: ArrayLike,
    same_within: float,
    different_beyond: float | None = None,
    max_pairs: int = MAX_PAIRS,
    random_state: Seed = 0,
) -> Pairs:
    """Same: points (n, d) at most `same_within` apart. Different: more than `different_beyond` apart, where given.

    Far pairs are looked for at random where there are very many pairs, so they are fewer where they are rare.

    >>> pairs = from_space([(0, 0), (0, 1), (9, 9)], same_within=1, different_beyond=5)
    >>> np.stack([pairs.left, pairs.right, pairs.same], 1).astype(int).tolist()
    [[0, 1, 1], [0, 2, 0], [1, 2, 0]]
    """
    points = np.asarray(coordinates, dtype=np.float64)
    if points.ndim != 2:
        raise InputError(f"coordinates have shape {points.shape}; give one point in each row: (n, d).")
    wrong = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(wrong):
        raise InputError(f"coordinates, row {wrong[0]}: there is a value that is not a number; leave out such points.")
    _check_spans(same_within, different_beyond, 0)
    random = np.random.default_rng(random_state)
    same = near_pairs(points, same_within, max_pairs, random)
    different = _none() if different_beyond is None else far_pairs(points, different_beyond, max_pairs, random)
    return _pairs(same, different, len(points))


def from_patches(
    grid_shape: tuple[int, int],
    same_within: float = 1.0,
    different_beyond: float | None = None,
    n_images: int = 1,
    max_pairs: int = MAX_PAIRS,
    random_state: Seed = 0,
) -> Pairs:
    """The patches of an image cut into (rows, columns), numbered row by row, and then those of the next image.

    Distances are in patches: 1 is the next in a row or a column, 1.5 takes in the diagonal. Nothing is said of patches
    of two images.

    >>> pairs = from_patches((2, 2))
    >>> np.stack([pairs.left, pairs.right], 1).tolist()
    [[0, 1], [0, 2], [1, 3], [2, 3]]
    """
    if len(grid_shape) != 2 or min(*grid_shape, n_images) < 1:
        raise InputError(
            f"grid_shape is {grid_shape} and n_images {n_images}; give rows, columns and images from 1 on."
        )
    random = np.random.default_rng(random_state)
    n = grid_shape[0] * grid_shape[1]
    one = from_space(np.indices(grid_shape).reshape(2, n).T, same_within, different_beyond, max_pairs, random)

    def in_all_images(kind: NDArray[np.bool_]) -> Both:
        left, right = one.left[kind], one.right[kind]
        image, pair = np.divmod(_numbers(len(left) * n_images, max_pairs, random), max(len(left), 1))
        return image * n + left[pair], image * n + right[pair]

    return _pairs(in_all_images(one.same == 1), in_all_images(one.same == 0), n * n_images)


def from_graph(edges: ArrayLike, n: int, non_links: int = 0, random_state: Seed = 0) -> Pairs:
    """Same: the items of an edge, edges (m, 2) among n items. Different: `non_links` pairs without one, drawn evenly.

    >>> pairs = from_graph([(0, 1), (1, 0), (2, 3)], n=4, non_links=4)
    >>> sorted(zip(pairs.left.tolist(), pairs.right.tolist(), pairs.same.tolist()))
    [(0, 1, 1.0), (0, 2, 0.0), (0, 3, 0.0), (1, 2, 0.0), (1, 3, 0.0), (2, 3, 1.0)]
    """
    links = np.asarray(edges)
    links = links if links.size else np.empty((0, 2), dtype=np.int64)
    if links.ndim != 2 or links.shape[1] != 2 or links.dtype.kind not in "iu":
        raise InputError(f"edges are {links.dtype} of shape {links.shape}; give two row numbers in each row: (m, 2).")
    wrong = np.flatnonzero(((links < 0) | (links >= n)).any(axis=1))
    if len(wrong):
        raise InputError(f"edges, row {wrong[0]}: {links[wrong[0]].tolist()} is not among the {n} items from 0 on.")
    low, high = np.sort(links.astype(np.int64), axis=1).T
    linked = distinct(number_of_pair(low, high)[low < high])  # numbers of pairs
    free = n_pairs(n) - len(linked)
    if not 0 <= non_links <= free:
        raise InputError(f"non_links is {non_links}, but {free} pairs have no edge; give a number from 0 to that.")
    number = distinct_numbers(free, non_links, np.random.default_rng(random_state))
    number += np.searchsorted(linked - np.arange(len(linked)), number, side="right")  # step over the linked pairs
    return _pairs(pair_numbered(linked), pair_numbered(number), n)


def _ranges(order: Ints, starts: Ints, ends: Ints, max_pairs: int, random: np.random.Generator) -> Both:
    """Each item in order with those from its start to its end, or some of these pairs where there are too many."""
    counts = ends - starts
    upto = np.cumsum(counts)
    number = _numbers(int(counts.sum()), max_pairs, random)
    item = np.searchsorted(upto, number, side="right")
    return order[item], order[starts[item] + number - (upto - counts)[item]]


def _numbers(total: int, most: int, random: np.random.Generator) -> Ints:
    """All numbers below total, or some of them, in order."""
    return np.arange(total) if total <= most else np.sort(distinct_numbers(total, most, random))


def _none() -> Both:
    return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def _pairs(same: Both, different: Both, n: int) -> Pairs:
    both = [np.concatenate(side) for side in zip(same, different, strict=True)]
    return Pairs.from_arrays(np.stack(both, axis=1), np.repeat([1, 0], [len(same[0]), len(different[0])])).index(n)


def _times(times: ArrayLike) -> NDArray[Any]:
    values = np.asarray(times)
    if values.dtype.kind == "O":
        try:
            values = values.astype("datetime64[us]")
        except (TypeError, ValueError) as error:
            raise InputError(f"times are neither numbers nor dates ({error}).") from error
    if values.ndim != 1 or values.dtype.kind not in "iufM":
        raise InputError(f"times are {values.dtype} of shape {values.shape}; give one number or date an item.")
    unknown = np.flatnonzero(np.isnat(values) if values.dtype.kind == "M" else ~np.isfinite(values))
    if len(unknown):
        raise InputError(f"times, row {unknown[0]}: there is no time; leave out such items.")
    return values.astype(np.int64) if values.dtype.kind in "iu" else values


def _timedelta(span: Any) -> Any:
    if span is None or isinstance(span, timedelta | np.timedelta64):
        return span if span is None else np.timedelta64(span)
    raise InputError(f"times are dates, so give timedeltas for the spans and not {span!r}.")


def _check_spans(same_within: Any, different_beyond: Any, zero: Any) -> None:
    if not same_within >= zero:
        raise InputError(f"same_within is {same_within}; give 0 or more.")
    if different_beyond is not None and not different_beyond >= same_within:
        raise InputError(f"different_beyond is {different_beyond}, less than same_within, {same_within}; give more.")
