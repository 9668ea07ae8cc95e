"""Synthetic items, answers and labels in files of any size, as a user would have them, to measure commands with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

FEATURES = 16
DEVIATION = 0.5  # of a class about its centre; centres are a few units apart


@dataclass(frozen=True)
class MadeUp:
    """Items of so many classes: item i is of class i modulo their number, so that the truth needs no file."""

    folder: Path
    n_items: int
    n_classes: int = 10
    seed: int = 0

    def classes(self) -> NDArray[np.int64]:
        return np.arange(self.n_items) % self.n_classes

    def ids(self) -> list[str]:
        return [f"item{number:07}" for number in range(self.n_items)]

    def items(self, *, labelled: bool = False) -> Path:
        """A Parquet table of features around the centres of the classes."""
        random = np.random.default_rng(self.seed)
        centres = random.normal(size=(self.n_classes, FEATURES))
        points = centres[self.classes()] + DEVIATION * random.normal(size=(self.n_items, FEATURES))
        columns = {"id": self.ids(), **{f"f{k}": points[:, k].astype(np.float32) for k in range(FEATURES)}}
        if labelled:
            columns["label"] = [f"class{number:03}" for number in self.classes()]
        path = (
            self.folder / f"items-{self.n_items}-{self.n_classes}-{self.seed}{'-labelled' if labelled else ''}.parquet"
        )
        pa.parquet.write_table(pa.table(columns), path, row_group_size=10_000)
        return path

    def answers(self, n_answers: int) -> Path:
        """A CSV file of right answers about random pairs, half of them "same"."""
        random = np.random.default_rng(self.seed + 1)
        left = random.integers(self.n_items, size=n_answers)
        rounds = self.n_items // self.n_classes
        same = left % self.n_classes + self.n_classes * random.integers(rounds, size=n_answers)
        right = np.where(np.arange(n_answers) % 2, same, random.integers(self.n_items, size=n_answers))
        right = np.where(right == left, (left + 1) % self.n_items, right)
        ids = pa.array(self.ids())
        table = pa.table(
            {
                "left": ids.take(pa.array(left)),
                "right": ids.take(pa.array(right)),
                "same": (left % self.n_classes == right % self.n_classes).astype(np.int8),
            }
        )
        path = self.folder / f"answers-{self.n_items}-{self.n_classes}-{n_answers}.csv"
        pa.csv.write_csv(table, path)
        return path

    def labels(self, n_labels: int) -> Path:
        """A CSV file of the classes of the first items."""
        names = [f"class{number:03}" for number in self.classes()[:n_labels]]
        path = self.folder / f"labels-{self.n_items}-{self.n_classes}-{n_labels}.csv"
        pa.csv.write_csv(pa.table({"id": self.ids()[:n_labels], "label": names}), path)
        return path
