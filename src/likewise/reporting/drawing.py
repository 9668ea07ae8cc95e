"""What every figure of a report has in common: colours, panels, frame and legend, and its way into the page as SVG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

# No two colours of LIGHT are equal: a figure is drawn in them, and on the page each becomes the variable of its name.
LIGHT = {
    "page": "#f6f7f9",
    "card": "#ffffff",
    "ink": "#1b2430",
    "muted": "#5b6675",
    "rule": "#dde2e9",
    "right": "#2563eb",
    "wrong": "#c2410c",
    "learner-1": "#2562ea",
    "learner-2": "#7a8699",
    "learner-3": "#0b8a7d",
    "learner-4": "#a16207",
    "learner-5": "#8b3fd9",
}
DARK = {
    "page": "#10141a",
    "card": "#181e27",
    "ink": "#e8ecf2",
    "muted": "#9aa6b6",
    "rule": "#2d3642",
    "right": "#5b8ff9",
    "wrong": "#ff8a4c",
    "learner-1": "#6b9bff",
    "learner-2": "#98a4b5",
    "learner-3": "#2fc4b2",
    "learner-4": "#e0a63a",
    "learner-5": "#bb8cf5",
}


def learner_colour(position: int) -> str:
    """The palette's name for the colour of a learner, by its place in the report; the sixth starts over.

    >>> learner_colour(0), learner_colour(5)
    ('learner-1', 'learner-1')
    """
    return f"learner-{position % 5 + 1}"


def channels(colour: str) -> str:
    """Red, green and blue as numbers, to which CSS can add a transparency.

    >>> channels("#2563eb")
    '37 99 235'
    """
    return " ".join(str(int(colour[i : i + 2], 16)) for i in (1, 3, 5))


Size = tuple[float, float]  # inches
WIDE, NARROW = (9.2, 3.5), (3.6, 5.2)
WIDEST_COLUMN = 5.0  # up to which names stand one below the other in a legend

percent = FuncFormatter(lambda share, _: f"{100 * share:g} %")


def new_figure(n_panels: int, size: Size) -> tuple[Figure, list[Axes]]:
    """A figure and its panels: side by side where it is wider than high, else one above the other.

    One panel alone would stand too high there, so that the figure becomes lower.
    """
    across = size[0] > size[1]
    if n_panels == 1 and not across:
        size = (size[0], 0.6 * size[1])
    layout = ConstrainedLayoutEngine(wspace=0.08, hspace=0.08, w_pad=0.05, h_pad=0.08)
    figure = Figure(figsize=size, layout=layout, facecolor=LIGHT["card"])
    if n_panels == 0:
        return figure, []
    grid = figure.subplots(*((1, n_panels) if across else (n_panels, 1)), squeeze=False)
    return figure, list(grid.flat)


def frame(axes: Axes, title: str, below: str) -> None:
    """A title above the panel, a name below its x axis, and no more lines than needed."""
    axes.set_title(title, loc="left", color=LIGHT["ink"], fontsize=10.5, fontweight="bold")
    axes.set_xlabel(below, color=LIGHT["muted"], fontsize=9.5)
    axes.set_facecolor("none")
    axes.tick_params(length=0, labelsize=9.5, labelcolor=LIGHT["muted"])
    axes.grid(axis="y", color=LIGHT["rule"], linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(LIGHT["rule"])


def legend(figure: Figure, keys: Mapping[str, Line2D], columns: int | None = None) -> None:
    """The names and their lines above the panels, by default in one row where the figure is wide."""
    drawn = figure.legend(
        list(keys.values()),
        ["name"] * len(keys),
        loc="outside upper left",
        ncols=columns or (len(keys) if figure.get_figwidth() > WIDEST_COLUMN else 1),
        frameon=False,
    )
    for text, name in zip(drawn.get_texts(), keys, strict=True):
        text.set(text=name, parse_math=False, fontsize=9.5, color=LIGHT["ink"])


def both_sizes(draw: Callable[[Size], Figure], label: str, *, prefix: str) -> Markup:
    """A figure drawn for a wide page and for a narrow one, of which one is shown; nothing where it has no panel."""
    figures = {"wide": draw(WIDE), "narrow": draw(NARROW)}
    return Markup("\n").join(
        svg(figure, label, prefix=f"{prefix}-{name}", classes=f"drawing {name}")
        for name, figure in figures.items()
        if figure.axes
    )


def svg_file(figure: Figure) -> bytes:
    """A file of its own, with its letters as shapes: it looks the same wherever it is shown."""
    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "likewise", "svg.fonttype": "path"}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def svg(figure: Figure, label: str, *, prefix: str, classes: str = "drawing") -> Markup:
    """The figure as an SVG element for an HTML page: the same bytes each time, in the page's own colours and font.

    Every colour of the palette becomes the page's variable of that name, so that the figure follows light and dark.
    `prefix` keeps the ids of several figures on one page apart; `label` is what a screen reader says.
    """
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": prefix, "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's browser has its own fonts
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(stream, format="svg", transparent=True, metadata=nothing)
    drawing = stream.getvalue()
    body = drawing[drawing.index(">", drawing.index("<svg")) + 1 :].rstrip()
    body = re.sub(r"<style\b.*?</style>\s*", "", body, flags=re.DOTALL)  # it would reach the whole page
    body = re.sub(r"<[^>]*>", lambda tag: _for_page(tag[0], prefix), body)
    width, height = 72 * figure.get_size_inches()
    box = f"0 0 {width:g} {height:g}"
    opening = Markup('<svg class="{}" role="img" aria-label="{}" viewBox="{}">').format(classes, label, box)
    return opening + Markup(body)  # in which matplotlib has escaped all text


def _for_page(tag: str, prefix: str) -> str:
    """A tag of matplotlib's SVG with ids of its own, the page's font and the page's colours."""
    tag = tag.replace(' id="', f' id="{prefix}-').replace("url(#", f"url(#{prefix}-").replace("xlink:href", "href")
    tag = tag.replace('href="#', f'href="#{prefix}-')
    tag = re.sub(r"font-family: [^;\"]*; ", "", tag)
    for name, colour in LIGHT.items():
        tag = tag.replace(colour, f"var(--{name})")
    return tag
