"""Semi-supervised learning: one objective, and a file for each method's regulariser."""

from likewise.supervision.semi.averaged import AveragedNetwork
from likewise.supervision.semi.methods import METHODS, Aids, Method, find_method
from likewise.supervision.semi.objective import BatchSeen, Regulariser, Weights, natural_weights, semi_objective
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
