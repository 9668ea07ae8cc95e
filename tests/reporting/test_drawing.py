"""Figures become the same SVG each time, in the page's colours, and their panels stand where there is room."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from likewise.reporting import confusion_figure, learning_curve
from likewise.reporting.drawing import LIGHT, NARROW, WIDE, Size, both_sizes, legend, new_figure, svg

HISTORY = [{"epoch": 1.0, "loss": 0.9, "accuracy": 0.5}, {"epoch": 2.0, "loss": 0.3, "accuracy": 0.8}]


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


def test_a_high_figure_stacks_its_panels() -> None:
    def corners(size: Size) -> tuple[bool, bool]:
        figure, (one, two) = new_figure(2, size)
        figure.draw_without_rendering()
        first, second = one.get_position(), two.get_position()
        return first.x1 < second.x0, first.y0 > second.y1

    assert corners(WIDE) == (True, False)
    assert corners(NARROW) == (False, True)


def test_one_panel_alone_does_not_fill_a_high_figure() -> None:
    assert tuple(new_figure(1, NARROW)[0].get_size_inches()) == (NARROW[0], 0.6 * NARROW[1])
    assert tuple(new_figure(1, WIDE)[0].get_size_inches()) == WIDE
    assert new_figure(0, WIDE)[1] == []


def test_a_legend_writes_names_as_they_are() -> None:
    figure, _ = new_figure(1, WIDE)
    legend(figure, {"_$x$": Line2D([], []), "<b>": Line2D([], [])})
    drawing = svg(figure, "legend", prefix="p")
    assert ">_$x$</text>" in drawing
    assert ">&lt;b&gt;</text>" in drawing


def test_both_sizes_are_drawn_for_the_page_to_choose() -> None:
    sizes = []

    def draw(size: Size) -> Figure:
        sizes.append(size)
        return new_figure(1, size)[0]

    drawn = both_sizes(draw, 'a "label"', prefix="p")
    assert sizes == [WIDE, NARROW]
    assert drawn.count("<svg ") == drawn.count('aria-label="a &#34;label&#34;"') == 2
    assert 'class="drawing wide"' in drawn
    assert 'class="drawing narrow"' in drawn
    assert both_sizes(lambda size: new_figure(0, size)[0], "nothing", prefix="p") == ""
