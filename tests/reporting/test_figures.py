"""The figures draw what they were given, and become the same SVG each time."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from PIL import Image

from likewise.reporting import confusion_figure, learning_curve
from likewise.reporting.figures import svg
from likewise.reporting.style import LIGHT

HISTORY = [
    {"epoch": 1.0, "loss": 0.9, "accuracy": 0.5, "test_accuracy": 0.4},
    {"epoch": 2.0, "loss": 0.3, "accuracy": 0.8, "test_accuracy": float("nan")},
    {"epoch": 3.0, "loss": 0.2, "accuracy": 0.9, "test_accuracy": 0.7},
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


def test_a_high_figure_stacks_its_panels() -> None:
    def corners(size: tuple[float, float]) -> list[tuple[bool, bool]]:
        figure = learning_curve({"MCL": HISTORY}, size=size)
        figure.draw_without_rendering()
        first, second = (axes.get_position() for axes in figure.axes)
        return [(first.x1 < second.x0, first.y0 > second.y1)]

    assert corners((9, 3)) == [(True, False)]
    assert corners((3, 5)) == [(False, True)]


def test_confusion_figure_writes_every_count_at_its_place() -> None:
    confusion = np.array([[0, 7, 1], [5, 0, 0], [0, 0, 0], [2, 0, 9]])
    [axes] = confusion_figure(confusion, np.array([1, 0, -1, 2]), ("a", "b", "c")).axes
    drawn = np.full((4, 3), -1)
    for text in axes.texts:
        column, row = text.get_position()
        drawn[int(row), int(column)] = int(text.get_text())
    assert drawn.tolist() == confusion[[1, 0, 3, 2]].tolist()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["1 → a", "0 → b", "3 → c", "2 → unmatched"]


def test_confusion_figure_colours_right_and_wrong_by_their_share() -> None:
    [axes] = confusion_figure(np.array([[3, 1], [0, 0]]), np.array([0, -1]), ("a", "b")).axes
    image = np.asarray(axes.images[0].get_array())  # (K, C, 4)
    assert [to_hex(colour[:3]) for colour in image[0]] == [LIGHT["right"], LIGHT["wrong"]]
    assert image[0, 0, 3] > image[0, 1, 3] > 0
    assert image[1, :, 3].tolist() == [0, 0]


def test_svg_is_the_same_each_time_and_leaves_matplotlib_alone() -> None:
    before = dict(matplotlib.rcParams)
    first, second = (svg(learning_curve({"MCL": HISTORY}), "curve", prefix="p") for _ in range(2))
    assert first == second
    assert dict(matplotlib.rcParams) == before


def test_svg_takes_every_colour_from_the_page() -> None:
    drawing = svg(confusion_figure(np.eye(2, dtype=int), np.array([0, 1]), ("a", "b")), "matrix", prefix="p")
    assert "#" not in drawing.replace("#p-", "")
    assert "var(--ink)" in drawing
    assert "<style" not in drawing


def test_text_in_a_drawing_is_not_taken_for_markup() -> None:
    name = f' id="x" {LIGHT["ink"]} 数'
    drawing = svg(learning_curve({name: HISTORY}), "curve", prefix="p")
    assert f">{name}</text>" in drawing


def test_colours_of_the_palette_differ() -> None:
    assert len(set(LIGHT.values())) == len(LIGHT)


def test_figures_can_be_saved_as_png() -> None:
    stream = io.BytesIO()
    learning_curve({"MCL": HISTORY}, size=(4, 2)).savefig(stream, format="png", dpi=50)
    assert Image.open(stream).size == (200, 100)
