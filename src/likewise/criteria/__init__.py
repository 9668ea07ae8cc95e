"""The criteria: MCL and KCL, as modules and as functions, and MCL for answers that may be wrong."""

from likewise.criteria.flips import flipped_mcl
from likewise.criteria.kcl import KCL, kcl
from likewise.criteria.mcl import MCL, mcl

__all__ = ["KCL", "MCL", "flipped_mcl", "kcl", "mcl"]
