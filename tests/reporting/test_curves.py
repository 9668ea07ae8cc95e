"""Learning curves draw what they were given, and a rule where a stage begins.

The reliability diagram shows the bins it was given, with their intervals and counts.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.colors import to_hex

from likewise.evaluation import calibration, wilson
from likewise.reporting import answers_curve, learning_curve, reliability_diagram
from likewise.reporting.curves import KNOWN_PAIRS, History, in_words, stage_changes
from likewise.reporting.drawing import LIGHT

HISTORY = [
    {"epoch": 1.0, "loss": 0.9, "accuracy": 0.5, "test_accuracy": 0.4},
    {"epoch": 2.0, "loss": 0.3, "accuracy": 0.8, "test_accuracy": float("nan")},
    {"epoch": 3.0, "loss": 0.2, "accuracy": 0.9, "test_accuracy": 0.7},
]
ANSWERS = [
    {"epoch": 1, "loss": 0.9, "held_out_loss": 0.8, "held_out_accuracy": 0.5, "stage": "answers"},
    {"epoch": 2, "loss": 0.4, "held_out_loss": math.nan, "held_out_accuracy": 0.8, "stage": "answers"},
    {"epoch": 4, "loss": 0.2, "held_out_loss": 0.3, "held_out_accuracy": None, "stage": "unlabelled"},
]


def test_learning_curve_draws_each_learner_in_its_colour() -> None:
    accuracy, loss = learning_curve({"MCL": HISTORY, "CE": HISTORY[:2]}).axes
    drawn = [
        (to_hex(line.get_color()), line.get_linestyle(), np.asarray(line.get_xydata()).tolist())
        for line in accuracy.lines
    ]
    blue, grey = LIGHT["learner-1"], LIGHT["learner-2"]
    assert drawn == [
        (blue, "-", [[1, 0.4], [3, 0.7]]),  # an epoch without a measurement is passed over
        (blue, ":", [[1, 0.5], [2, 0.8], [3, 0.9]]),
        (grey, "-", [[1, 0.4]]),
        (grey, ":", [[1, 0.5], [2, 0.8]]),
    ]
    assert [np.asarray(line.get_ydata()).tolist() for line in loss.lines] == [[0.9, 0.3, 0.2], [0.9, 0.3]]


@pytest.mark.parametrize(
    ("history", "titles"),
    [
        (HISTORY, ["Accuracy", "Training loss"]),
        ([{"epoch": 1, "loss": 0.5}], ["Training loss"]),
        ([{"epoch": 1, "accuracy": 0.5}], ["Accuracy"]),
        ([{"epoch": 1, "loss": float("nan")}], []),
        ([], []),
    ],
)
def test_a_panel_without_figures_is_left_out(history: list[dict[str, float]], titles: list[str]) -> None:
    assert [axes.get_title(loc="left") for axes in learning_curve({"MCL": history}).axes] == titles


def test_answers_curve_tells_held_out_from_training() -> None:
    accuracy, loss = answers_curve(ANSWERS).axes
    drawn = [
        (to_hex(line.get_color()), line.get_linestyle(), np.asarray(line.get_xydata()).tolist()) for line in loss.lines
    ]
    assert drawn[:2] == [
        (LIGHT["learner-1"], "-", [[1, 0.8], [4, 0.3]]),
        (LIGHT["muted"], ":", [[1, 0.9], [2, 0.4], [4, 0.2]]),
    ]
    assert np.asarray(accuracy.lines[0].get_xydata()).tolist() == [[1, 0.5], [2, 0.8]]
    [legend] = answers_curve(ANSWERS).legends
    assert [text.get_text() for text in legend.get_texts()] == ["on held-out answers", "while training"]


def test_a_rule_stands_where_the_stage_changes() -> None:
    for axes in answers_curve(ANSWERS).axes:
        assert np.asarray(axes.lines[-1].get_xdata()).tolist() == [3, 3]
        assert [text.get_text() for text in axes.texts] == ["unlabelled items join"]
    for axes in answers_curve(ANSWERS[:2]).axes:
        assert not axes.texts
        assert len(axes.lines) <= 2


@pytest.mark.parametrize(
    ("history", "titles"),
    [
        (ANSWERS, ["Held-out accuracy", "Loss"]),
        ([{"loss": 0.5}], ["Training loss"]),
        ([{"held_out_loss": 0.5}], ["Held-out loss"]),
        ([{"held_out_accuracy": 0.5, "loss": 1}], ["Held-out accuracy", "Training loss"]),
        ([{"epoch": 1, "stage": "answers"}], []),
        ([], []),
    ],
)
def test_answers_curve_draws_only_what_was_measured(history: History, titles: list[str]) -> None:
    figure = answers_curve(history)
    assert [axes.get_title(loc="left") for axes in figure.axes] == titles
    assert bool(figure.legends) == (history is ANSWERS)


@pytest.mark.parametrize("accuracy", [0.0, 0.99, 1.0])
def test_no_tick_of_an_accuracy_lies_beyond_0_and_100_percent(accuracy: float) -> None:
    figure = answers_curve([{"epoch": epoch, "held_out_accuracy": accuracy} for epoch in (1, 2)])
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    ticks = [tick for tick in axes.get_yticks() if low <= tick <= high]
    assert 0 <= min(ticks) <= max(ticks) <= 1
    assert low < accuracy < high


@pytest.mark.parametrize(
    ("rows", "changes"),
    [
        ([(1, "a"), (2, "a")], []),
        ([(1, "a"), (2, "b"), (3, "b"), (4, "a")], [(1.5, "b"), (3.5, "a")]),
        ([(10, "a"), (20, "$x$")], [(15, "$x$")]),
        ([(1, "a"), (2, "a"), (1, "b"), (2, "b")], [(2.5, "b")]),  # epochs that start over are counted on
        ([(1, "a"), (2, None), (3, "b")], [(2, "b")]),
        ([(None, "a"), (None, "b")], [(1.5, "b")]),
        ([(1, 1.0), (2, 2.0), (3, 2)], [(1.5, "stage 2")]),
    ],
)
def test_stage_changes(rows: list[tuple[int | None, str | float | None]], changes: list[tuple[float, str]]) -> None:
    assert stage_changes([{"epoch": epoch, "stage": stage} for epoch, stage in rows]) == changes


FOUND = calibration([0.02, 0.04, 0.35, 0.93, 0.95, 0.97], [0, 0, 1, 1, 1, 0])


def test_shares_stand_at_their_probability_with_their_interval() -> None:
    shares, _ = reliability_diagram(FOUND).axes
    diagonal, points = shares.lines
    assert np.asarray(diagonal.get_xydata()).tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(np.asarray(points.get_xydata()), [[0.03, 0], [0.35, 1], [0.95, 2 / 3]])
    drawn = [segment[:, 1].tolist() for segment in shares.collections[0].get_segments()]
    assert drawn == [pytest.approx(wilson(*seen)) for seen in ((0, 2), (1, 1), (2, 3))]


def test_counts_are_drawn_and_written() -> None:
    _, counts = reliability_diagram(FOUND).axes
    assert [bar.get_height() for bar in counts.patches] == [2, 0, 0, 1, 0, 0, 0, 0, 0, 3]
    assert [(text.xy[0], text.get_text()) for text in counts.texts] == [
        (pytest.approx(0.05), "2"),
        (pytest.approx(0.35), "1"),
        (pytest.approx(0.95), "3"),
    ]


def test_pairs_of_the_same_items_have_no_interval() -> None:
    """They are not independent, so that it would be too narrow."""
    shares, counts = reliability_diagram(FOUND, kind=KNOWN_PAIRS).axes
    assert not shares.collections
    assert (shares.get_title(loc="left"), counts.get_title(loc="left")) == ("Share that is the same", "Number of pairs")
    np.testing.assert_allclose(np.asarray(shares.lines[1].get_xydata()), [[0.03, 0], [0.35, 1], [0.95, 2 / 3]])


def test_in_words_every_filled_bin_is_told() -> None:
    assert in_words(FOUND) == "0 to 10 %: 0 % of 2; 30 to 40 %: 100 % of 1; 90 to 100 %: 67 % of 3"
    assert in_words(calibration([], [])) == ""
