"""Loss surfaces to files: a picture of each loss side by side, or a page on which they can be turned."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from likewise.errors import InputError
from likewise.landscape import LOSSES, Surface
from likewise.reporting.page import count, write_page
from likewise.reporting.surfaces import COLOURS, MOST_QUADS, Panel, height_marks, limits, surfaces_figure
from likewise.storage.atomic_files import write_atomically

# Loss surfaces on a page that lets one turn them: one HTML file with a script of its own and nothing to fetch.

ALPHA, BETA = "\N{GREEK SMALL LETTER ALPHA}", "\N{GREEK SMALL LETTER BETA}"
HOW = "Drag to turn, or use the arrow keys. All turn together."


def write_surfaces_page(path: Path | str, panels: Sequence[Panel], *, title: str, summary: str = "") -> None:
    """Write the panels side by side."""
    if not panels:
        raise InputError("There is no surface to draw; give at least one.")
    figures = "".join(_figure(panel) for panel in panels)
    drawn = {"panels": [for_script(panel) for panel in panels], "colours": COLOURS, "most": MOST_QUADS}
    content = json.dumps(drawn, allow_nan=False)
    content = content.replace("</", "<\\/")  # a title must not end the script
    script = resources.files("likewise.reporting").joinpath("turning.js").read_text(encoding="utf-8")
    body = (
        f'<section><p class="about">{HOW}</p><div class="panel surfaces">{figures}</div></section>\n'
        f"<style>{STYLE}</style>\n"
        f'<script type="application/json" id="surfaces">{content}</script>\n'
        f"<script>{script}</script>"
    )
    write_page(path, title=title, summary=summary, sections=[body])


STYLE = """
.surfaces{display:grid;grid-template-columns:repeat(auto-fit,minmax(16rem,1fr));gap:1rem}
.surfaces figcaption{text-align:center}
.surfaces small{display:block;color:var(--muted)}
canvas.surface{display:block;width:100%;aspect-ratio:.92;touch-action:none;cursor:grab}
canvas.surface:active{cursor:grabbing}
"""


def for_script(panel: Panel) -> dict[str, Any]:
    """What turning.js draws: heights from 0 to 1 or null, and where there is what to write.

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


def _figure(panel: Panel) -> str:
    gaps = panel.gaps()
    note = f"<small>{count(gaps, 'point', 'points')} without a finite loss</small>" if gaps else "<small>&nbsp;</small>"
    label = f"The loss surface of {panel.title}, which can be turned"
    return (
        f"<figure><figcaption><strong>{escape(panel.title)}</strong>{note}</figcaption>"
        f'<canvas class="surface" role="img" tabindex="0" aria-label="{escape(label)}"></canvas></figure>'
    )


CORNERS = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0))  # where the solutions of a mutual projection are
NOTE = "{runs}: {items:,} items in batches of {batch_size}, {grid} x {grid} points, batch-norm {batch_norm}."


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
    """What it is of, in few words."""
    about = surface.about
    what = f"{about['network']} on {about['dataset']}" if "dataset" in about else about["runs"][0]
    return f"{what}, {'around one solution' if about['projection'] == 'random' else 'between three solutions'}"


def note_on(surface: Surface) -> str:
    """Which runs, and how it was computed."""
    return NOTE.format(**{**surface.about, "runs": ", ".join(surface.about["runs"])})
