"""The section of RESULTS.md on loss surfaces: for each network a table and two figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from likewise.landscape import LOSSES, Surface
from likewise.paper.landscape import PROJECTIONS, TABLE, LandscapeRecord, surface_path
from likewise.paper.markdown import machines, notes, table
from likewise.paper.records import read_records
from likewise.reporting.surfaces import picture, surface_panel

LANDSCAPE = """\
## Loss surfaces (the paper's appendix A)

f(alpha, beta) = L(theta* + alpha delta + beta eta), over random training items in batches of 100 that are the same at
every point; MCL and KCL are over the pairs of a batch, each pair once. "Around" is the paper's random projection: each
loss around the solution that was trained with it, along two random directions in which each filter has the norm of the
trained one; biases and batch-norm's weights stay. "Between" is its mutual projection: all losses on the plane through
the three solutions, with MCL's at (0, 0), CE's at (1, 0) and KCL's at (0, 1), outputs matched with classes. Batch-norm
has the statistics of each batch at each point, as in training; stored ones belong to the solutions alone. Chance is the
loss of a network whose outputs are all alike. The rank correlation is Spearman's over the points of the grid.
"""

HEADER = (
    "projection",
    "loss",
    "lowest",
    "highest",
    "chance",
    "below half of chance",
    "below a tenth of chance",
    "rank correlation with CE",
    "gaps",
)
NUMERIC = set(HEADER) - {"projection", "loss"}
IN_WORDS = {"random": "around each solution", "mutual": "between the solutions"}


def landscape_section(results: Path) -> str:
    """The same records give the same text."""
    records = sorted(read_records(results, TABLE, LandscapeRecord), key=lambda record: record.name)
    if not records:
        return f"{LANDSCAPE}\nNo surface is recorded yet: `likewise paper landscape` makes the records.\n"
    parts = [_part(results, record) for record in records]
    return "\n".join([LANDSCAPE, *parts, machines(records), *notes(results, TABLE)])


def landscape_figures(results: Path) -> dict[str, tuple[LandscapeRecord, str]]:
    """The figures that the section refers to, by their paths from the page: of which record, and which projection."""
    return {
        figure_path(record, projection): (record, projection)
        for record in read_records(results, TABLE, LandscapeRecord)
        for projection in PROJECTIONS
        if all(path.exists() for path in _surfaces(results, record, projection))
    }


def draw_landscape(results: Path, record: LandscapeRecord, projection: str) -> bytes:
    """A PNG file: the three losses side by side."""
    surfaces = [Surface.load(path) for path in _surfaces(results, record, projection)]
    panels = [surface_panel(surface, loss) for surface, loss in zip(surfaces, LOSSES, strict=True)]
    title = f"{record.network} on {record.dataset}, {IN_WORDS[projection]}"
    return picture(panels, title)


def figure_path(record: LandscapeRecord, projection: str) -> str:
    """Where the figure lies, from the folder of the page."""
    return f"docs/landscape-{record.name}-{projection}.png"


def _surfaces(results: Path, record: LandscapeRecord, projection: str) -> list[Path]:
    """The files of the three losses; between the solutions they are one."""
    names = [projection if projection == "mutual" else f"{projection}-{loss}" for loss in LOSSES]
    return [surface_path(results, record.name, name) for name in names]


def _part(results: Path, record: LandscapeRecord) -> str:
    points = f"{record.grid} x {record.grid} points, {record.items:,} items"
    how = f"{points}, runs of {record.epochs} epochs, seed {record.seed}, {record.cpu_seconds / 60:.1f} core-minutes"
    rows = [_row(projection, loss, getattr(record, projection)[loss]) for projection in PROJECTIONS for loss in LOSSES]
    parts = [
        f"### {record.network} on {record.dataset}\n",
        f"{how}: `{record.command}`\n",
        table(HEADER, rows, NUMERIC),
    ]
    for path, (of, projection) in landscape_figures(results).items():
        if of == record:
            alternative = f"CE, MCL and KCL of {record.network} on {record.dataset}, {IN_WORDS[projection]}"
            parts.append(f"![{alternative}]({path})\n")
    return "\n".join(parts)


def _row(projection: str, loss: str, numbers: dict[str, float]) -> Sequence[str]:
    return (
        IN_WORDS[projection].split()[0],
        loss.upper(),
        *(f"{numbers[name]:.4g}" for name in ("lowest", "highest", "chance")),
        *(f"{100 * numbers[name]:.1f} %" for name in ("below_half", "below_tenth")),
        "" if loss == "ce" else f"{numbers['rank_correlation']:.3f}",
        f"{numbers['gaps']:.0f}",
    )
