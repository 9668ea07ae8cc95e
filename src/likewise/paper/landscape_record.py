"""What the loss surfaces of one network on one data set show, one JSON file; the surfaces lie beside it as .npz."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

TABLE = "landscape"
PROJECTIONS = ("random", "mutual")


@dataclass(frozen=True)
class LandscapeRecord:
    """Around each solution (random) and between them (mutual), for each loss.

    No date: repeated work writes the same record, apart from the times.
    """

    table: str
    dataset: str
    network: str
    epochs: int  # of the runs
    seed: int  # of the runs, the items and the random directions
    grid: int  # points a side
    items: int
    settings: dict[str, object]  # how the surfaces were computed, and the precision
    random: dict[str, dict[str, float]]  # loss -> its figures, each around the solution of this loss
    mutual: dict[str, dict[str, float]]  # loss -> its figures, all on the plane through the three solutions
    cpu_seconds: float  # of all surfaces
    command: str
    likewise: str  # versions
    torch: str
    cpu: str
    threads: int

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
