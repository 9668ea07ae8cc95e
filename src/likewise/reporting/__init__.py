"""Figures and the HTML report."""

from likewise.reporting.figures import confusion_figure, learning_curve
from likewise.reporting.learner import Learner, find_disagreements
from likewise.reporting.page import write_report

__all__ = ["Learner", "confusion_figure", "find_disagreements", "learning_curve", "write_report"]
