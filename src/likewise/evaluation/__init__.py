"""Judging outputs against classes and similarities against answers: matching, scores, calibration, intervals."""

from likewise.evaluation.answers import PairAccuracy, hard_answers, pair_accuracy
from likewise.evaluation.calibration import Calibration, calibration
from likewise.evaluation.item_bootstrap import share_interval
from likewise.evaluation.matching import apply_matching, confusion, match_outputs
from likewise.evaluation.number_of_classes import (
    NumberOfClasses,
    StoppingRule,
    joining_costs,
    n_dominant,
    number_by_silhouette,
)
from likewise.evaluation.pair_quality import PairQuality, pair_quality
from likewise.evaluation.platt import platt
from likewise.evaluation.scores import PairScores, accuracy, ari, nmi, pair_scores, scores
from likewise.evaluation.trust import Trust, trust
from likewise.evaluation.wilson import wilson

__all__ = [
    "Calibration",
    "NumberOfClasses",
    "PairAccuracy",
    "PairQuality",
    "PairScores",
    "StoppingRule",
    "Trust",
    "accuracy",
    "apply_matching",
    "ari",
    "calibration",
    "confusion",
    "hard_answers",
    "joining_costs",
    "match_outputs",
    "n_dominant",
    "nmi",
    "number_by_silhouette",
    "pair_accuracy",
    "pair_quality",
    "pair_scores",
    "platt",
    "scores",
    "share_interval",
    "trust",
    "wilson",
]
