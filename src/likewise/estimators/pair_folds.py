"""Model selection with answers: folds by items, and scores of agreement for scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import BaseCrossValidator

from likewise.errors import InputError
from likewise.estimators.inputs import seed_of
from likewise.evaluation import PairAccuracy, pair_accuracy
from likewise.pairs import Pairs, PairTarget, answers_about


class PairKFold(BaseCrossValidator):  # type: ignore[misc]
    """Splits items at random into folds, and the answers with them: a side has those between two of its own items.

    An item is never on both sides, so that the test is about items the classifier has not seen. Answers across the two
    sides are left out: of random answers to k folds, 1 / k^2 test a fold and (1 - 1/k)^2 train. So k is small.

    Parameters
    ----------
    n_splits : the number of folds. random_state : a seed; the same one gives the same folds.

    >>> from likewise.pairs import Pairs
    >>> y = Pairs.from_labels(np.arange(90) % 3, n=600).target(90)
    >>> [(len(train), len(test), len(y[test].pairs)) for train, test in PairKFold(3).split(np.zeros((90, 2)), y)]
    [(60, 30, 66), (60, 30, 59), (60, 30, 56)]
    """

    def __init__(self, n_splits: int = 3, *, random_state: int | np.random.RandomState | None = 0) -> None:
        self.n_splits = n_splits
        self.random_state = random_state

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        return self.n_splits

    def _iter_test_indices(self, X: Any = None, y: Any = None, groups: object = None) -> Iterator[NDArray[np.int64]]:
        if not isinstance(y, PairTarget):
            raise InputError(f"PairKFold splits answers; give pairs.target(len(X)) as y, got {type(y).__name__}.")
        if not 2 <= self.n_splits <= len(y):
            raise InputError(f"n_splits must be from 2 to the number of items, {len(y)}, got {self.n_splits!r}.")
        random = np.random.default_rng(seed_of(self.random_state))
        answered = np.isin(np.arange(len(y)), y.pairs.items)
        order = np.concatenate([random.permutation(np.flatnonzero(some)) for some in (answered, ~answered)])
        fold = np.empty(len(y), dtype=np.int64)
        fold[order] = np.arange(len(y)) % self.n_splits  # each has as many of the items with answers
        for k in range(self.n_splits):
            test = np.flatnonzero(fold == k)
            if not len(y[test].pairs):
                raise InputError(
                    f"No answer is between two items of fold {k + 1} of {self.n_splits}: {len(y.pairs)} answers about "
                    f"{int(answered.sum())} items are too few; use fewer folds, or give more answers."
                )
            yield test


# How far a classifier agrees with answers: scores for scikit-learn, where nobody knows the classes.
#
# `cross_validate(model, X, pairs.target(len(X)), scoring={"all": agreement, "balanced": balanced_agreement})`
def agreement(estimator: Any, X: Any, y: Pairs | PairTarget) -> float:
    """The share of the answers that the classifier agrees with, by their weights, as `PairClassifier.score` has it.

    >>> from sklearn.datasets import make_blobs
    >>> from likewise import PairClassifier
    >>> X, y = make_blobs(120, centers=3, cluster_std=0.5, random_state=3)
    >>> pairs = Pairs.from_labels(y, n=300)
    >>> model = PairClassifier(n_classes=3, epochs=3).fit(X, pairs=pairs)
    >>> agreement(model, X, pairs) > 0.9
    True
    """
    same, similarity, weight = _both(estimator, X, y)
    return float(np.average((similarity > 0.5) == (same > 0.5), weights=weight))


def balanced_agreement(estimator: Any, X: Any, y: Pairs | PairTarget) -> float:
    """The mean of the shares among the answers "same" and among the answers "different", which are usually more.

    A classifier that finds everything different has 0.5. NaN where the answers are of one kind.

    >>> from sklearn.datasets import make_blobs
    >>> from likewise import PairClassifier
    >>> X, y = make_blobs(120, centers=3, cluster_std=0.5, random_state=3)
    >>> pairs = Pairs.from_labels(y, n=300)
    >>> model = PairClassifier(n_classes=3, epochs=3).fit(X, pairs=pairs)
    >>> balanced_agreement(model, X, pairs) > 0.9
    True
    """
    same, similarity, _ = _both(estimator, X, y)
    scores: PairAccuracy = pair_accuracy(similarity, same)
    return scores.balanced


def _both(estimator: Any, X: Any, y: Pairs | PairTarget) -> tuple[Any, Any, Any]:
    """The answers that count, the probabilities that the classifier gives to "same", and the answers' weights."""
    pairs = answers_about(y, X)
    pairs = pairs.select((pairs.weight > 0) & (pairs.same != 0.5))
    if not len(pairs):
        raise InputError("There is no answer about these items to score with; give more answers, or split them less.")
    p = estimator.predict_proba(X)  # (n, classes); a pipeline has it, too
    return pairs.same, np.einsum("ik,ik->i", p[pairs.left], p[pairs.right]).clip(0, 1), pairs.weight
