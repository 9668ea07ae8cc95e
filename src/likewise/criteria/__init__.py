"""The criteria: MCL and KCL, as modules and as functions, and MCL for answers that may be wrong."""

from likewise.criteria.flips import flipped_mcl
from likewise.criteria.kcl import KCL, kcl
from likewise.criteria.mcl import MCL, mcl
from likewise.criteria.tables import LabelTable, MatrixTable, Overlay, PairTable, Told, known_pairs, whole

__all__ = [
    "KCL",
    "MCL",
    "LabelTable",
    "MatrixTable",
    "Overlay",
    "PairTable",
    "Told",
    "flipped_mcl",
    "kcl",
    "known_pairs",
    "mcl",
    "whole",
]
