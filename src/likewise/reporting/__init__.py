"""Figures and the HTML reports."""

from likewise.reporting.answers_report import write_answers_report
from likewise.reporting.curves import answers_curve, learning_curve
from likewise.reporting.discovery_report import SeenSimilarity, write_discovery_report
from likewise.reporting.judged import JudgedAnswers
from likewise.reporting.labels_report import JudgedLabels, write_labels_report
from likewise.reporting.learner import Learner, find_disagreements
from likewise.reporting.learners_report import write_report
from likewise.reporting.matrix import confusion_figure
from likewise.reporting.reliability import reliability_diagram
from likewise.reporting.wrong_answers import AnnotatorRow, WrongAnswer, WrongAnswers

__all__ = [
    "AnnotatorRow",
    "JudgedAnswers",
    "JudgedLabels",
    "Learner",
    "SeenSimilarity",
    "WrongAnswer",
    "WrongAnswers",
    "answers_curve",
    "confusion_figure",
    "find_disagreements",
    "learning_curve",
    "reliability_diagram",
    "write_answers_report",
    "write_discovery_report",
    "write_labels_report",
    "write_report",
]
