"""The paper's Figure 4: the surfaces of CE, MCL and KCL around their own solutions, and between the three.

Around a solution, each loss is shown for the network that was trained with it. Between them there is one plane, with
the solution of MCL in its middle, and all three losses are shown on it. Every surface holds all three losses: once the
network is computed, they cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from likewise.errors import InputError
from likewise.landscape import LOSSES, Surface, finite_range, loss_surface, rank_correlation, share_below
from likewise.paper.records import Record, machines, notes, read_record, read_records, record_path, table, write_record
from likewise.paper.table1_entries import NO_TREATMENT, Entry, recipes, select
from likewise.reporting.surfaces import picture, surface_panel
from likewise.storage.records import machine

# What the loss surfaces of one network on one data set show, one JSON file; the surfaces lie beside it as .npz.

TABLE = "landscape"
PROJECTIONS = ("random", "mutual")


@dataclass(frozen=True, kw_only=True)
class LandscapeRecord(Record):
    """Around each solution (random) and between them (mutual), for each loss.

    `settings` say how the surfaces were computed; `cpu_seconds` are of all surfaces.
    """

    dataset: str
    network: str
    epochs: int  # of the runs
    seed: int  # of the runs, the items and the random directions
    grid: int  # points per side
    items: int
    random: dict[str, dict[str, float]]  # loss -> its figures, each around the solution of this loss
    mutual: dict[str, dict[str, float]]  # loss -> its figures, all on the plane through the three solutions

    @property
    def name(self) -> str:
        return landscape_name(self.dataset, self.network, self.seed, self.epochs, self.grid, self.items)


def landscape_name(dataset: str, network: str, seed: int, epochs: int, grid: int, items: int) -> str:
    """
    >>> landscape_name("mnist", "lenet", 0, 30, 91, 1000)
    'mnist-lenet-seed0-30ep-91x91-1000items'
    """
    return f"{dataset}-{network}-seed{seed}-{epochs}ep-{grid}x{grid}-{items}items"


def surface_path(results: Path, name: str, which: str) -> Path:
    """Where a surface lies; `which` is mutual, or random- and the loss."""
    return results / TABLE / name / f"{which}.npz"


MIDDLE = "mcl"  # of the plane between the solutions
KEPT = ("batch_size", "batch_norm", "from", "to")  # what a record says of how each surface was made


def run_landscape(
    *,
    dataset: str,
    network: str,
    epochs: int | None = None,
    seed: int = 0,
    grid: int = 91,
    items: int = 1000,
    processes: int = 1,
    data: Path | None = None,
    runs: Path,
    results: Path,
) -> tuple[LandscapeRecord, Path, bool]:
    """Compute the four surfaces, or resume them; gives record, path and whether there was anything to do."""
    entries = {loss: _entry(dataset, network, loss, seed, epochs) for loss in LOSSES}
    name = landscape_name(dataset, network, seed, entries[MIDDLE].settings.epochs, grid, items)
    path = record_path(results, TABLE, name)
    if path.exists():
        return read_record(path, LandscapeRecord), path, False
    solutions = {loss: _finished_run(entry, runs) for loss, entry in entries.items()}
    others = [solutions[loss] for loss in LOSSES if loss != MIDDLE]
    planes = {f"random-{loss}": [solutions[loss]] for loss in LOSSES} | {"mutual": [solutions[MIDDLE], *others]}
    surfaces = {}
    for which, (centre, *mutual) in planes.items():
        print(f"{which}:", flush=True)
        surfaces[which] = loss_surface(
            centre,
            mutual,
            grid=grid,
            items=items,
            seed=seed,
            data=data,
            out=surface_path(results, name, which),
            processes=processes,
            progress=True,
        )
    made_with: dict[str, Any] = {**machine()}
    record = LandscapeRecord(
        table=TABLE,
        dataset=dataset,
        network=network,
        epochs=entries[MIDDLE].settings.epochs,
        seed=seed,
        grid=grid,
        items=items,
        settings={
            "precision": "float32",
            "processes": processes,
            **{which: {key: surface.about[key] for key in KEPT} for which, surface in surfaces.items()},
        },
        random=figures({loss: surfaces[f"random-{loss}"] for loss in LOSSES}),
        mutual=figures(dict.fromkeys(LOSSES, surfaces["mutual"])),
        cpu_seconds=round(sum(surface.cpu_seconds for surface in surfaces.values()), 1),
        command=_command(dataset, network, epochs, seed, grid, items),
        **made_with,
    )
    return record, write_record(results, record), True


def figures(surfaces: Mapping[str, Surface]) -> dict[str, dict[str, float]]:
    """What each loss shows on its surface; the rank correlation is with CE, point by point of the grid."""
    measured = {}
    for loss, surface in surfaces.items():
        values, chance = surface[loss], surface.chance[loss]
        lowest, highest = finite_range(values)
        numbers = {
            "lowest": lowest,
            "highest": highest,
            "chance": chance,
            "below_half": share_below(values, chance / 2),
            "below_tenth": share_below(values, chance / 10),
            "rank_correlation": rank_correlation(values, surfaces["ce"]["ce"]),
            "gaps": float(surface.gaps(loss)),
        }
        measured[loss] = {name: float(f"{number:.6g}") for name, number in numbers.items()}
    return measured


def _entry(dataset: str, network: str, loss: str, seed: int, epochs: int | None) -> Entry:
    chosen = {"dataset": dataset, "network": network, "criterion": loss, "treatment": NO_TREATMENT}
    (entry,) = select(recipes("table1"), **chosen, seed=seed, epochs=epochs)
    return entry


def _finished_run(entry: Entry, runs: Path) -> Path:
    folder = runs / entry.recipe.table / entry.name
    if not (folder / "model.safetensors").exists():
        raise InputError(f"{folder} is not there or not finished; run `{entry.command} --runs {runs}` first.")
    return folder


def _command(dataset: str, network: str, epochs: int | None, seed: int, grid: int, items: int) -> str:
    schedule = [] if epochs is None else ["--epochs", str(epochs)]
    parts = ["likewise paper landscape", "--dataset", dataset, "--network", network, "--seed", str(seed), *schedule]
    return " ".join([*parts, "--grid", str(grid), "--n-items", str(items)])


# The section of RESULTS.md on loss surfaces: for each network a table and two figures.

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
