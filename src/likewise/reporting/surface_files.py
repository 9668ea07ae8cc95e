"""Loss surfaces to files: a picture of each loss side by side, or a page on which they can be turned."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

from likewise.landscape import LOSSES, Surface
from likewise.reporting.surfaces import Panel, surfaces_figure
from likewise.reporting.surfaces_page import write_surfaces_page
from likewise.storage.atomic_files import write_atomically

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
