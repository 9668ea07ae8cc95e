"""The criteria: MCL and KCL, as modules and as functions."""

from likewise.criteria.kcl import KCL, kcl
from likewise.criteria.mcl import MCL, mcl

__all__ = ["KCL", "MCL", "kcl", "mcl"]
