"""Semi-supervised learning: one objective, and the regulariser of each method."""

from likewise.supervision.semi.objective import (
    AveragedNetwork,
    BatchSeen,
    Regulariser,
    Weights,
    natural_weights,
    semi_objective,
)
from likewise.supervision.semi.regularisers import METHODS, Aids, Method, find_method
from likewise.supervision.semi.vat import usual_epsilon

__all__ = [
    "METHODS",
    "Aids",
    "AveragedNetwork",
    "BatchSeen",
    "Method",
    "Regulariser",
    "Weights",
    "find_method",
    "natural_weights",
    "semi_objective",
    "usual_epsilon",
]
