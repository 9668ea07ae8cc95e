"""Which data sets are there, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from likewise.datasets.cifar import CIFAR10, CIFAR100
from likewise.datasets.idx import MNIST_FILES
from likewise.datasets.places import find

# For each set the files that it needs, each with the forms that will do; the first is what `get` downloads.
NEEDED: dict[str, tuple[tuple[str, ...], ...]] = {
    "mnist": tuple((f"{file}.gz", file) for file in MNIST_FILES),
    "fashion-mnist": tuple((f"{file}.gz", file) for file in MNIST_FILES),
    "cifar10": ((CIFAR10.archive, CIFAR10.folder),),
    "cifar100": ((CIFAR100.archive, CIFAR100.folder),),
    "omniglot": tuple((f"images_{part}.zip", f"images_{part}") for part in ("background", "evaluation")),
}


@dataclass(frozen=True)
class Found:
    name: str
    paths: tuple[Path, ...]
    missing: tuple[str, ...]


def survey(data: Path | str | None = None) -> list[Found]:
    """What is there of each set that comes in files; nothing is opened."""
    found = []
    for name, needed in NEEDED.items():
        places = {forms[0]: find(name, forms, data) for forms in needed}
        paths = tuple(place for place in places.values() if place is not None)
        missing = tuple(file for file, place in places.items() if place is None)
        found.append(Found(name, paths, missing))
    return found
