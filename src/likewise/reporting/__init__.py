"""Figures and self-contained HTML pages; `report` writes the page of a fitted model in one call."""

from likewise.reporting.confusion_matrix import confusion_figure
from likewise.reporting.curves import answers_curve, learning_curve, reliability_diagram
from likewise.reporting.learners_page import Learner, find_disagreements, write_learners_page
from likewise.reporting.model_report import report
from likewise.reporting.page import Card, Report

__all__ = [
    "Card",
    "Learner",
    "Report",
    "answers_curve",
    "confusion_figure",
    "find_disagreements",
    "learning_curve",
    "reliability_diagram",
    "report",
    "write_learners_page",
]
