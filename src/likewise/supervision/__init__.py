"""Where S comes from, one file a paradigm."""

from likewise.supervision.labels import label_objective

__all__ = ["label_objective"]
