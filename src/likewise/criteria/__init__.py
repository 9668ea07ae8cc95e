"""The criteria: MCL and KCL, as modules and as functions; MCL for answers that may be wrong, and for all at once."""

from likewise.criteria.joint import Groups, joint_mcl, joint_targets
from likewise.criteria.kcl import KCL, kcl
from likewise.criteria.mcl import MCL, mcl
from likewise.criteria.tables import Overlay, dense, known_pairs
from likewise.criteria.targets import LabelTable, MatrixTable, PairTable, TableTile
from likewise.criteria.wrong_answers import evidence_mcl, noisy_mcl

__all__ = [
    "KCL",
    "MCL",
    "Groups",
    "LabelTable",
    "MatrixTable",
    "Overlay",
    "PairTable",
    "TableTile",
    "dense",
    "evidence_mcl",
    "joint_mcl",
    "joint_targets",
    "kcl",
    "known_pairs",
    "mcl",
    "noisy_mcl",
]
