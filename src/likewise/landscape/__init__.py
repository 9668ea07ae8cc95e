"""Loss surfaces: directions in the space of weights, the losses on a grid, and what can be measured on it."""

from likewise.landscape.compute import loss_surface
from likewise.landscape.job import LOSSES
from likewise.landscape.surface import Surface, finite_range, rank_correlation, share_below

__all__ = ["LOSSES", "Surface", "finite_range", "loss_surface", "rank_correlation", "share_below"]
