"""How many classes there are, from answers and geometry: two estimates, weighed by their errors, and a likelihood.

Small clusters are joined as long as that pays: two that share more neighbours than chance would have it (modularity:
Newman, 2004), with the log-odds of the answers between them (`linkage.py`). What is left is the first estimate.

The second counts pairs. Of all pairs a share S = sum_k p_k^2 is of one class, and K clusters that are the classes have
just this share within them. So clusters are joined until they hold S of all pairs. The share of "same" among answers
would be S if they were many, random and right. Instead, S is estimated by how alike two items are, known of all pairs:

    S = mean over all pairs of P(same | alike),    alike: the earlier two items are joined, on average over many trees

P grows with it, and is fitted to the answers under this condition alone (isotonic regression); no tree knew the answers
that it is compared with. What is left of P among the pairs that are least alike is the rate e of wrong answers, and
(P - e) / (1 - 2e) the truth behind them. Answers drawn again give the error of S. Where the answers hold far more or
less of "same" than random ones would, it was not by chance that they were asked, and the error is as large as that.

Wrong answers hide a small S. The likelihood stands them better: with K clusters too few, "different" is said within
clusters far more often than "same" is said wrongly; with too many, "same" between them. So the two estimates together
are the prior of K, and each tree, cut at K, gives the likelihood of the answers that it did not know.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from likewise.clustering.agglomeration import (
    FOLDS,
    NEIGHBOURS,
    Candidate,
    Space,
    candidates,
    log_likelihood,
    principal_rows,
    small_clusters,
)
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.geometry import Neighbours, nearest, shared_neighbours
from likewise.clustering.linkage import FIRST_WRONG, Odds, join_groups
from likewise.evaluation import NumberOfClasses

MOST_ITEMS = 2000  # that are looked at, those with answers first
SMALL = 400  # clusters that the first count begins with
LEAST = 8  # classes that the trees are made for, at least
PAIRS = 50_000  # that stand for all pairs
DRAWS = 50
GEOMETRY_ERROR = 0.25  # of the first estimate, as a logarithm; measured on photographs, digits and made-up blobs
PAIRS_ERROR = 0.05  # of the second, however many answers there are
LIKELIHOOD_PRIOR = 0.1  # of both together, before the likelihood is looked at, as a logarithm: wrong answers bias them
OVERDISPERSION = 2.0  # of the likelihood: answers about clusters that are not the classes are not independent
WIDE = 1.645  # standard errors on either side: 90 %
MOST_WRONG = 0.3


def count_classes(spaces: Mapping[str, Space], odds: Odds, seed: int) -> NumberOfClasses:
    """The number of classes among n items, which are seen in one space (n, d) or several, and its 90 % interval."""
    rows, odds = items_to_count(odds, seed)
    spaces = {name: space[rows] for name, space in spaces.items()}
    estimate = math.log(np.median([_communities(space, seed) for space in spaces.values()]))
    bounds = _bounds(estimate, GEOMETRY_ERROR)
    if len(odds):
        n_clusters = min(max(LEAST, round(math.exp(estimate))), max(2, odds.n_items // 3))
        bounds = _by_answers(list(candidates(spaces, n_clusters, seed, starts=1)), odds, seed)
    middle, few, many = (min(max(2, round(math.exp(value))), odds.n_items) for value in bounds)
    return NumberOfClasses(middle, few, many)


def items_to_count(odds: Odds, seed: int) -> tuple[Ints, Odds]:
    """The items (n,) to look at and the answers among them: all, or of many the ends of answers first, then others."""
    if odds.n_items <= MOST_ITEMS:
        return np.arange(odds.n_items), odds
    random = np.random.default_rng(seed)
    ends = odds.ends[random.permutation(len(odds))].ravel()
    order = np.concatenate([ends, random.permutation(odds.n_items)])
    rows = order[np.sort(np.unique(order, return_index=True)[1])][:MOST_ITEMS]
    place = np.full(odds.n_items, -1)
    place[rows] = np.arange(MOST_ITEMS)
    kept = (place[odds.ends] >= 0).all(axis=1)
    return rows, Odds(MOST_ITEMS, place[odds.ends[kept]], odds.credit[kept])


def _communities(space: Space, seed: int) -> int:
    """How many clusters are left when no two share more neighbours than chance would have it."""
    n, rows = len(space), principal_rows(space, seed)
    fine = small_clusters(rows, SMALL, 2, seed)
    n_fine = int(fine.max()) + 1
    graph = Neighbours(shared_neighbours(nearest(rows, NEIGHBOURS)), 1.0)
    return n_fine - len(join_groups(graph, fine, n_fine, csr_array((n, n)), 1, least=0.0))


def _by_answers(trees: Sequence[Candidate], odds: Odds, seed: int) -> tuple[float, float, float]:
    """The logarithm of the number, and the bounds of its interval."""
    weights = odds.matrix(FIRST_WRONG)
    left = [
        tree.n_fine - len(join_groups(tree.geometry, tree.fine, tree.n_fine, weights, 1, least=0.0))
        for tree in trees
        if isinstance(tree.geometry, Neighbours)
    ]
    by_joining = math.log(np.median(left))
    if not ((odds.credit > 0).any() and (odds.credit < 0).any()):
        return _bounds(by_joining, GEOMETRY_ERROR)
    random = np.random.default_rng(seed)
    start = random.integers(odds.n_items, size=PAIRS)
    pairs = np.stack([start, (start + random.integers(1, odds.n_items, size=PAIRS)) % odds.n_items], axis=1)
    unseen = [_out_of_fold(tree, odds, pairs, seed) for tree in trees]
    by_pairs, error, usual = _by_pairs(trees, unseen, odds, random)
    share = GEOMETRY_ERROR**2 / (GEOMETRY_ERROR**2 + error**2)
    middle, error = by_joining + share * (by_pairs - by_joining), error * math.sqrt(share)
    return _by_likelihood(unseen, odds, usual, middle, math.hypot(error, LIKELIHOOD_PRIOR))


def _bounds(middle: float, error: float) -> tuple[float, float, float]:
    return middle, middle - WIDE * error, middle + WIDE * error


class Unseen(NamedTuple):
    """What a tree says of pairs whose answers it did not know, and of any pairs."""

    within: Floats  # (m,) the log share of all pairs that is within clusters once the two items of an answer are joined
    of_pairs: Floats  # (PAIRS,) likewise
    clusters: Ints  # (m,) and how many clusters there are just then
    n_fine: int  # there are at first


def _out_of_fold(tree: Candidate, odds: Odds, pairs: Ints, seed: int) -> Unseen:
    random = np.random.default_rng(seed)
    fold, fold_of_pair = random.permutation(len(odds)) % FOLDS, random.integers(FOLDS, size=len(pairs))
    within, of_pairs, clusters = np.zeros(len(odds)), np.zeros(len(pairs)), np.zeros(len(odds), dtype=np.int64)
    for number in range(FOLDS):
        when, path = _joined_within(tree, tree.joins(odds.select(fold != number), FIRST_WRONG, 1))
        for score, ends, out in ((within, odds.ends, fold == number), (of_pairs, pairs, fold_of_pair == number)):
            score[out] = when[tuple(tree.fine[ends[out]].T)]
        clusters[fold == number] = tree.n_fine - np.searchsorted(path, within[fold == number])
    return Unseen(within, of_pairs, clusters, tree.n_fine)


def _by_pairs(
    trees: Sequence[Candidate], unseen: Sequence[Unseen], odds: Odds, random: np.random.Generator
) -> tuple[float, float, Floats]:
    """The logarithm of the number, by the share of pairs that are of one class, and its standard error.

    Gives also how much an answer "different" and one "same" count, (2,), so that they are as in a random sample.
    """
    weight, same = np.abs(odds.credit), (odds.credit > 0).astype(np.float64)
    alike, of_all = -np.mean([tree.within for tree in unseen], axis=0), -np.mean([t.of_pairs for t in unseen], axis=0)
    order = np.argsort(alike, kind="stable")
    alike, same, weight = alike[order], same[order], weight[order]
    far = int(np.searchsorted(alike, np.median(of_all)))

    def share(weight: Floats) -> tuple[float, float]:
        """S, and the share of "same" among the answers when the wrong ones are taken out."""
        wrong = min(MOST_WRONG, float(weight[:far] @ same[:far]) / max(float(weight[:far].sum()), 1.0))
        at, first = np.unique(alike[weight > 0], return_index=True)
        fitted = isotonic_regression(same[weight > 0], weights=weight[weight > 0]).x
        counted = np.add.reduceat(weight[weight > 0], first)
        rate = np.add.reduceat(fitted * weight[weight > 0], first) / counted
        right = np.clip((rate - wrong) / (1 - 2 * wrong), 0, 1)
        least = 1 / PAIRS
        return max(least, float(np.interp(of_all, at, right).mean())), max(
            least, float(counted @ right) / counted.sum()
        )

    of_all_pairs, among_answers = (math.log(value) for value in share(weight))
    drawn = [share(weight * random.multinomial(len(odds), np.full(len(odds), 1 / len(odds)))) for _ in range(DRAWS)]
    spread, of_answers = np.log(drawn).std(axis=0)
    unlike_random = abs(among_answers - of_all_pairs)
    at_random = unlike_random <= 3 * of_answers
    error = math.hypot(spread, PAIRS_ERROR, 0.0 if at_random else unlike_random)
    paths = [_joined_within(tree, tree.joins(odds, FIRST_WRONG, 1))[1] for tree in trees]
    few, middle, many = (
        float(np.median([_clusters_with(path, of_all_pairs + width * error) for path in paths])) for width in (1, 0, -1)
    )
    usual = np.ones(2)
    if not at_random:
        S, asked = math.exp(of_all_pairs), math.exp(among_answers)
        usual = np.array([(1 - S) / max(1 - asked, 1e-12), S / asked])
    return middle, max(PAIRS_ERROR, (many - few) / 2), usual


def _by_likelihood(
    unseen: Sequence[Unseen], odds: Odds, usual: Floats, middle: float, error: float
) -> tuple[float, float, float]:
    """The logarithm of the median number and of its bounds, where it is `middle` with this error before the likelihood.

    Two rates are counted on all answers, as in `log_likelihood`. A tree that explains the answers better counts more.
    """
    same = odds.credit > 0
    weight = np.abs(odds.credit) * usual[same.astype(np.int64)]
    counted = replace(odds, credit=np.where(same, weight, -weight))
    numbers = np.arange(2, max(tree.n_fine for tree in unseen) + 1)
    table = np.full((len(unseen), len(numbers)), -np.inf)
    for row, tree in zip(table, unseen, strict=True):
        for number in range(2, tree.n_fine + 1):
            row[number - 2] = log_likelihood(tree.clusters >= number, counted)
    likelihood = logsumexp(table / OVERDISPERSION, axis=0)
    chance = softmax(likelihood - ((np.log(numbers) - middle) / error) ** 2 / 2)
    below = np.cumsum(chance)
    low, median, high = (float(np.log(numbers[np.searchsorted(below, part)])) for part in (0.05, 0.5, 0.95))
    spare = WIDE * PAIRS_ERROR
    return median, min(low, median - spare), max(high, median + spare)


def _joined_within(tree: Candidate, joins: Sequence[tuple[int, int]]) -> tuple[Floats, Floats]:
    """The log share of the pairs that is within clusters: (M, M) once two groups are joined, (M,) after each join."""
    size = np.bincount(tree.fine, minlength=tree.n_fine).astype(np.float64)
    every = size.sum() * (size.sum() - 1) / 2
    within = max(1.0, float((size * (size - 1)).sum()) / 2)
    when = np.full((tree.n_fine, tree.n_fine), math.log(within / every))
    path = [when[0, 0]]
    members: list[Ints] = [np.array([group]) for group in range(tree.n_fine)]
    for into, other in joins:
        within = min(every, within + float(size[members[into]].sum() * size[members[other]].sum()))
        path.append(math.log(within / every))
        when[np.ix_(members[into], members[other])] = when[np.ix_(members[other], members[into])] = path[-1]
        members[into] = np.concatenate([members[into], members[other]])
    return when, np.array(path)


def _clusters_with(path: Floats, log_share: float) -> float:
    """The logarithm of how many clusters there are on a path of joins when they hold this share of the pairs."""
    return float(np.interp(log_share, path, np.log(np.arange(len(path), 0, -1))))
