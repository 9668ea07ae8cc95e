"""Where answers stand, so that a message can name the file and the line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Source:
    """The file of the answers, and the place of each in it: its line in a CSV file, else its row, counted from 0."""

    lines: NDArray[np.int64]  # (m,)
    file: str = ""
    unit: str = "row"

    def place(self, row: int) -> str:
        """
        >>> Source(np.array([2, 5]), "answers.csv", "line").place(1)
        'answers.csv, line 5'
        >>> Source(np.arange(3)).place(2)
        'row 2'
        """
        place = f"{self.unit} {self.lines[row]}"
        return f"{self.file}, {place}" if self.file else place

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Source:
        return replace(self, lines=self.lines[rows])
