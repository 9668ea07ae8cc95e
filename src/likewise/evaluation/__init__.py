"""Judging outputs against classes: the matching of outputs with classes, and scores from the confusion matrix."""

from likewise.evaluation.matching import apply_matching, confusion, match_outputs
from likewise.evaluation.scores import PairScores, accuracy, ari, nmi, pair_scores, scores

__all__ = [
    "PairScores",
    "accuracy",
    "apply_matching",
    "ari",
    "confusion",
    "match_outputs",
    "nmi",
    "pair_scores",
    "scores",
]
