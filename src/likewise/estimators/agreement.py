"""How far a classifier agrees with answers: scores for scikit-learn, where nobody knows the classes.

`cross_validate(model, X, pairs.target(len(X)), scoring={"all": agreement, "balanced": balanced_agreement})`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from likewise.errors import InputError
from likewise.evaluation import PairAccuracy, pair_accuracy
from likewise.pairs import Pairs, PairTarget, answers_about


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
    same, said, weight = _both(estimator, X, y)
    return float(np.average((said > 0.5) == (same > 0.5), weights=weight))


def balanced_agreement(estimator: Any, X: Any, y: Pairs | PairTarget) -> float:
    """The mean of the shares among the answers "same" and among those "different", which are mostly more.

    A classifier that finds everything different has 0.5. NaN where the answers are of one kind.

    >>> from sklearn.datasets import make_blobs
    >>> from likewise import PairClassifier
    >>> X, y = make_blobs(120, centers=3, cluster_std=0.5, random_state=3)
    >>> pairs = Pairs.from_labels(y, n=300)
    >>> model = PairClassifier(n_classes=3, epochs=3).fit(X, pairs=pairs)
    >>> balanced_agreement(model, X, pairs) > 0.9
    True
    """
    same, said, _ = _both(estimator, X, y)
    found: PairAccuracy = pair_accuracy(said, same)
    return found.balanced


def _both(estimator: Any, X: Any, y: Pairs | PairTarget) -> tuple[Any, Any, Any]:
    """The answers that count, the probabilities that the classifier gives to "same", and the answers' weights."""
    pairs = answers_about(y, X)
    pairs = pairs.select((pairs.weight > 0) & (pairs.same != 0.5))
    if not len(pairs):
        raise InputError("There is no answer about these items to score with; give more answers, or split them less.")
    p = estimator.predict_proba(X)  # (n, classes); a pipeline has it, too
    return pairs.same, np.einsum("ik,ik->i", p[pairs.left], p[pairs.right]).clip(0, 1), pairs.weight
