"""Judging outputs against classes and similarities against answers: matching, scores, calibration, intervals."""

from likewise.evaluation.calibration import Calibration, calibration, platt
from likewise.evaluation.intervals import share_interval, wilson
from likewise.evaluation.novelty import Novelty, auroc, known_share, nearness
from likewise.evaluation.number_of_classes import (
    NumberOfClasses,
    StoppingRule,
    joining_costs,
    n_dominant,
    number_by_silhouette,
)
from likewise.evaluation.pair_quality import (
    PairAccuracy,
    PairQuality,
    Trust,
    hard_answers,
    pair_accuracy,
    pair_quality,
    trust,
)
from likewise.evaluation.scores import (
    KnownAndNew,
    PairScores,
    accuracy,
    apply_matching,
    ari,
    confusion,
    known_and_new,
    match_outputs,
    nmi,
    pair_scores,
    scores,
)

__all__ = [
    "Calibration",
    "KnownAndNew",
    "Novelty",
    "NumberOfClasses",
    "PairAccuracy",
    "PairQuality",
    "PairScores",
    "StoppingRule",
    "Trust",
    "accuracy",
    "apply_matching",
    "ari",
    "auroc",
    "calibration",
    "confusion",
    "hard_answers",
    "joining_costs",
    "known_and_new",
    "known_share",
    "match_outputs",
    "n_dominant",
    "nearness",
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
