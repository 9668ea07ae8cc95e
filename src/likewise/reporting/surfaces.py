"""Loss surfaces as the paper draws them (Figure 4): the surface above, its contours below, the losses side by side.

They become a picture, or a page on which they can be turned.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from mpl_toolkits.mplot3d import Axes3D
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.landscape import LOSSES, Surface
from likewise.reporting.drawing import LIGHT
from likewise.reporting.page import write_page
from likewise.storage.atomic_files import write_atomically

Floats = NDArray[np.float64]

# Low is dark green and high is yellow, as in the paper.
COLOURS = ("#0b3d2e", "#14694a", "#3f9a5f", "#8cc06d", "#d3dd7a", "#fff3a3")
LEVELS = 14  # of the contours
MOST_QUADS = 46  # per side of a surface: more edges would run into each other; contours have all points
DROP = 1.25  # how far below the surface its contours lie, in heights of the surface
WIDTH, HEIGHT, HEADING = 3.9, 4.2, 0.62  # inches: of a panel, and of what stands above it
CORNERS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))  # where the solutions of a mutual projection are
NOTE = "{runs}: {items:,} items in batches of {batch_size}, {grid} x {grid} points, batch-norm {batch_norm}."
ALPHA, BETA = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}"


@dataclass(frozen=True)
class Panel:
    """One surface to draw."""

    title: str
    alpha: Floats  # (A,)
    beta: Floats  # (B,)
    values: NDArray[np.floating[Any]]  # (A, B), NaN in gaps
    logarithmic: bool = False  # as the paper has it for CE
    line: float | None = None  # a value to draw a contour line at
    solutions: Sequence[tuple[str, float, float]] = ()  # name, alpha, beta

    def heights(self) -> Floats:
        """What is drawn: the values or their decimal logarithms, NaN where there is nothing to draw."""
        values = np.asarray(self.values, dtype=np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            heights = np.log10(values) if self.logarithmic else values
        return np.where(np.isfinite(heights), heights, np.nan)

    def height(self, value: float) -> float:
        """Where a value is drawn."""
        return math.log10(value) if self.logarithmic else value

    def gaps(self) -> int:
        return int(np.isnan(self.heights()).sum())


def draw_surface(path: Path, surface: Surface) -> None:
    """All losses of one surface, in the form that the file's name ends in."""
    panels = [surface_panel(surface, loss) for loss in LOSSES if loss in surface.losses]
    draw_panels(path, panels, title=title_of(surface), summary=note_on(surface))


def draw_panels(path: Path, panels: Sequence[Panel], *, title: str, summary: str = "") -> None:
    if path.suffix.lower() == ".html":
        write_surfaces_page(path, panels, title=title, summary=summary)
    else:
        write_atomically(path, picture(panels, title, path.suffix.lower().removeprefix(".")))


def picture(panels: Sequence[Panel], title: str, kind: str = "png") -> bytes:
    """The figure as a file's content: the same panels, the same bytes."""
    stream = io.BytesIO()
    undated: dict[str, Any] = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with matplotlib.rc_context({"svg.hashsalt": "likewise"}):
        surfaces_figure(panels, title).savefig(stream, format=kind, dpi=120, metadata=undated[kind])
    return stream.getvalue()


def surface_panel(surface: Surface, loss: str) -> Panel:
    """One loss; CE on a logarithmic axis, as in the paper, and a line at half of the chance level."""
    logarithmic = loss == "ce"
    return Panel(
        title=loss.upper() + (" (logarithmic)" if logarithmic else ""),
        alpha=surface.alpha,
        beta=surface.beta,
        values=surface[loss],
        logarithmic=logarithmic,
        line=surface.chance[loss] / 2,
        solutions=solutions_of(surface),
    )


def solutions_of(surface: Surface) -> list[tuple[str, float, float]]:
    """The names and places of three solutions, by their criteria where these tell them apart; one needs no name."""
    if surface.about.get("projection") != "mutual":
        return []
    criteria = [str(criterion).upper() for criterion in surface.about.get("criteria", [])]
    names = criteria if len(set(criteria)) == len(CORNERS) and all(criteria) else surface.about["runs"]
    return [(name, alpha, beta) for name, (alpha, beta) in zip(names, CORNERS, strict=True)]


def title_of(surface: Surface) -> str:
    """A short title: what the surface is of."""
    about = surface.about
    what = f"{about['network']} on {about['dataset']}" if "dataset" in about else about["runs"][0]
    return f"{what}, {'around one solution' if about['projection'] == 'random' else 'between three solutions'}"


def note_on(surface: Surface) -> str:
    """Which runs, and how it was computed."""
    return NOTE.format(**{**surface.about, "runs": ", ".join(surface.about["runs"])})


def write_surfaces_page(path: Path | str, panels: Sequence[Panel], *, title: str, summary: str = "") -> None:
    """Write the panels side by side, to be turned."""
    if not panels:
        raise InputError("There is no surface to draw; give at least one.")
    drawn = {"panels": [for_script(panel) for panel in panels], "colours": COLOURS, "most": MOST_QUADS}
    write_page(path, "surfaces.html", title=title, summary=summary, panels=panels, drawn=drawn)


def surfaces_figure(panels: Sequence[Panel], title: str = "") -> Figure:
    """The panels side by side, seen from the same place, over the same alpha and beta where they have the same grid."""
    if not panels:
        raise InputError("There is no surface to draw; give at least one.")
    width, height = WIDTH * len(panels), HEIGHT + HEADING
    figure = Figure(figsize=(width, height), facecolor=LIGHT["card"])
    for position, panel in enumerate(panels):
        place = ((position - 0.04) / len(panels), 0.03, 1 / len(panels), HEIGHT / height)
        _draw(figure.add_axes(place, projection="3d", computed_zorder=False), panel)
        middle = (position + 0.5) / len(panels)
        figure.text(middle, HEIGHT / height, panel.title, ha="center", color=LIGHT["ink"], fontsize=11, weight="bold")
    figure.text(0.18 / width, 1 - 0.28 / height, title, color=LIGHT["ink"], fontsize=12, weight="bold")
    return figure


def _draw(axes: Axes3D, panel: Panel) -> None:
    heights = panel.heights()
    low, high = limits(heights)
    floor = low - DROP * (high - low)
    beta, alpha = np.meshgrid(panel.beta, panel.alpha)  # (A, B) each
    style = {"cmap": LinearSegmentedColormap.from_list("surface", COLOURS), "norm": Normalize(low, high)}
    if np.isfinite(heights).any():
        masked = np.ma.masked_invalid(heights)
        axes.contourf(alpha, beta, masked, np.linspace(low, high, LEVELS), zdir="z", offset=floor, zorder=1, **style)
        if panel.line is not None and low < panel.height(panel.line) < high:
            line = [panel.height(panel.line)]
            axes.contour(alpha, beta, masked, line, zdir="z", offset=floor, colors=LIGHT["ink"], linewidths=1, zorder=2)
        few = {"rcount": MOST_QUADS, "ccount": MOST_QUADS}
        axes.plot_surface(alpha, beta, heights, linewidth=0.1, edgecolor=(0, 0, 0, 0.2), zorder=4, **few, **style)
    for name, x, y in panel.solutions:
        axes.plot([x], [y], [floor], "o", color=LIGHT["wrong"], markersize=5, markeredgecolor="white", zorder=3)
        text = axes.text(x, y, floor, f"  {name}", color=LIGHT["ink"], fontsize=8.5, fontweight="bold", zorder=5)
        text.set_path_effects([withStroke(linewidth=2.2, foreground="white")])
    _dress(axes, panel, floor, low, high)


def _dress(axes: Axes3D, panel: Panel, floor: float, low: float, high: float) -> None:
    """Titles, ticks and the box around it."""
    axes.set_xlim(panel.alpha[0], panel.alpha[-1])
    axes.set_ylim(panel.beta[0], panel.beta[-1])
    axes.set_zlim(floor, high)
    axes.set_xlabel("$\\alpha$", color=LIGHT["muted"], fontsize=11, labelpad=-3)
    axes.set_ylabel("$\\beta$", color=LIGHT["muted"], fontsize=11, labelpad=-3)
    for ends, set_ticks in ((panel.alpha, axes.set_xticks), (panel.beta, axes.set_yticks)):
        low_end, high_end = float(ends[0]), float(ends[-1])
        margin = 0.05 * (high_end - low_end)  # where the two axes meet, their numbers would run into each other
        set_ticks(round_numbers(low_end + margin, high_end - margin, most=4))
    marks = height_marks(low, high, panel.logarithmic)
    axes.set_zticks(list(marks.values()), list(marks))
    axes.tick_params(labelsize=8, colors=LIGHT["muted"], pad=-2)
    for axis in (axes.xaxis, axes.yaxis, axes.zaxis):
        axis.set_pane_color((1, 1, 1, 0))
        axis.line.set_color(LIGHT["rule"])
    axes.grid(False)
    axes.zaxis.set_tick_params(pad=0)
    axes.view_init(elev=26, azim=-58)
    axes.set_box_aspect((1, 1, 1.1), zoom=0.97)
    axes.patch.set_visible(False)  # it would cover the neighbour's numbers


def limits(heights: Floats) -> tuple[float, float]:
    """The lowest and the highest point, a little apart where the surface is flat or empty.

    >>> limits(np.array([[1.0, np.nan], [3.0, 2.0]]))
    (1.0, 3.0)
    """
    there = heights[np.isfinite(heights)]
    if not there.size:
        return 0.0, 1.0
    low, high = float(there.min()), float(there.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def height_marks(low: float, high: float, logarithmic: bool) -> dict[str, float]:
    """What to write beside which height: round numbers, on a logarithmic axis powers of ten.

    >>> height_marks(-2.5, 1.2, logarithmic=True)
    {'$10^{-2}$': -2.0, '$10^{-1}$': -1.0, '$10^{0}$': 0.0, '$10^{1}$': 1.0}
    """
    if logarithmic:
        powers = range(math.ceil(low), math.floor(high) + 1)
        if len(powers) > 1:
            return {f"$10^{{{power}}}$": float(power) for power in powers}
        return {f"{10**height:.3g}": height for height in np.linspace(low, high, 3).tolist()}
    return {f"{height:g}": height for height in round_numbers(low, high)}


def round_numbers(low: float, high: float, most: int = 5) -> list[float]:
    """
    >>> round_numbers(-0.5, 1.5)
    [-0.5, 0.0, 0.5, 1.0, 1.5]
    """
    numbers = np.asarray(MaxNLocator(most - 1, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)).round(12)
    slack = 0.01 * (high - low)  # a loss that almost reaches 0 has its 0 beside it
    return [float(number) for number in numbers if low - slack <= number <= high + slack]


def for_script(panel: Panel) -> dict[str, Any]:
    """What surfaces.js draws: heights from 0 to 1 or null, and where there is what to write.

    >>> heights = np.array([[1.0, np.nan], [3.0, 2.0]])
    >>> for_script(Panel("MCL", np.array([-1.0, 1.0]), np.array([0.0, 2.0]), heights))["heights"]
    [[0.0, None], [1.0, 0.5]]
    """
    low, high = limits(panel.heights())
    shares = ((panel.heights() - low) / (high - low)).round(4)
    (left, right), (near, far) = panel.alpha[[0, -1]].tolist(), panel.beta[[0, -1]].tolist()

    def place(alpha: float, beta: float) -> tuple[float, float]:
        return (alpha - left) / (right - left) - 0.5, (beta - near) / (far - near) - 0.5

    return {
        "heights": [[None if np.isnan(share) else share for share in row] for row in shares.tolist()],
        "marks": [
            (_plain(text), round((height - low) / (high - low), 4))
            for text, height in height_marks(low, high, panel.logarithmic).items()
        ],
        "solutions": [(name, *place(alpha, beta)) for name, alpha, beta in panel.solutions],
        "ends": [
            (f"{ALPHA} {left:g}", -0.5, 0.0),
            (f"{ALPHA} {right:g}", 0.5, 0.0),
            (f"{BETA} {near:g}", 0.0, -0.5),
            (f"{BETA} {far:g}", 0.0, 0.5),
        ],
    }


def _plain(text: str) -> str:
    """A mark without mathematical notation: $10^{-2}$ becomes 0.01."""
    if not text.startswith("$10^{"):
        return text
    return f"{10.0 ** int(text.removeprefix('$10^{').removesuffix('}$')):g}"
