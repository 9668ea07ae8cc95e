"""Other ways to choose pairs, simulated with true answers; each gives the groups after so many answers.

    random                random pairs, grouped by the chooser as its own answers are
    explore-consolidate   the farthest item from all seen is asked against each group, until there are K; then random
                          items against the groups, the nearest first (Basu, Banerjee and Mooney, 2004)
    min-max               likewise, but the next item is the one whose nearest group is the farthest (Mallapragada, Jin
                          and Jain, 2008)

The last two are told K, and their answers are grouped by PCK-means, as published.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from likewise.clustering import PCKMeans
from likewise.evaluation import confusion, match_outputs, scores
from likewise.pairs import Pairs
from likewise.querying import QuestionChooser

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def accuracy(labels: Ints, y: Ints) -> float:
    """With classes matched one-to-one."""
    counts = confusion(labels, y, int(labels.max()) + 1, int(y.max()) + 1)
    return float(scores(counts, match_outputs(counts))["accuracy"])


def random_pairs(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    """Grouped by a chooser without answers, from which they are withdrawn again."""
    random = np.random.default_rng([chooser.seed, 2])
    pairs = {tuple(sorted(random.choice(len(y), 2, replace=False).tolist())) for _ in range(answers)}
    for i, j in sorted(pairs):
        chooser.tell(i, j, bool(y[i] == y[j]))
    labels = chooser.labels_
    for i, j in pairs:
        chooser.withdraw(i, j)
    return labels


def explore_consolidate(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    return _by_groups(X, y, answers, chooser.seed, min_max=False)


def min_max(X: Floats, y: Ints, answers: int, chooser: QuestionChooser) -> Ints:
    return _by_groups(X, y, answers, chooser.seed, min_max=True)


def _by_groups(X: Floats, y: Ints, answers: int, seed: int, *, min_max: bool) -> Ints:
    random, n_classes = np.random.default_rng([seed, 3]), int(y.max()) + 1
    first = int(random.integers(len(y)))
    groups = [[first]]
    asked: list[tuple[int, int, bool]] = []
    distance = ((X - X[first]) ** 2).sum(axis=1)  # to the nearest item that is in a group
    while len(asked) < answers:
        rest = np.flatnonzero(distance > 0)
        if not len(rest):
            break
        explore = len(groups) < n_classes
        item = int(rest[distance[rest].argmax()]) if explore or min_max else int(random.choice(rest))
        near = [float(((X[group] - X[item]) ** 2).sum(axis=1).min()) for group in groups]
        for number in np.argsort(near, kind="stable"):
            if len(asked) == answers:
                break
            same = bool(y[groups[number][0]] == y[item])
            asked.append((groups[number][0], item, same))
            if same:
                groups[number].append(item)
                break
        else:
            groups.append([item])
        distance = np.minimum(distance, ((X - X[item]) ** 2).sum(axis=1))
    pairs = Pairs.from_arrays([pair[:2] for pair in asked], [int(pair[2]) for pair in asked])
    return np.asarray(PCKMeans(n_clusters=n_classes, random_state=seed).fit(X, pairs=pairs).labels_)


RIVALS: dict[str, Callable[[Floats, Ints, int, QuestionChooser], Ints]] = {
    "random": random_pairs,
    "explore-consolidate": explore_consolidate,
    "min-max": min_max,
}
