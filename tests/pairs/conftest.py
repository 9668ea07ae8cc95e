"""What answers imply, worked out the slow way: every item with every other, by the definition.

Random answers are the same in every run, and have no limit on their time: a busy machine is not an error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import settings

from likewise.pairs import Pairs

settings.register_profile("likewise", deadline=None, derandomize=True, database=None)
settings.load_profile("likewise")

Answer = tuple[int, int, float, float]  # left, right, same, weight


class Brute:
    """Distances over "same" answers by Floyd and Warshall; what follows from each "different", for every two items."""

    def __init__(self, answers: Sequence[Answer], n: int) -> None:
        self.distance = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
        for i, j, same, weight in answers:
            if same > 0.5 and weight > 0 and i != j:
                self.distance[i, j] = self.distance[j, i] = 1
        for k, i, j in product(range(n), repeat=3):
            self.distance[i, j] = min(self.distance[i, j], self.distance[i, k] + self.distance[k, j])
        self.target = np.where(np.isfinite(self.distance), 1.0, np.nan)  # (n, n)
        self.denied = []  # rows of "different" answers that a chain of "same" answers denies
        for row, (a, b, same, weight) in enumerate(answers):
            if same < 0.5 and weight > 0:
                if np.isfinite(self.distance[a, b]):
                    self.denied.append(row)
                    continue
                for i, j in product(range(n), repeat=2):
                    if np.isfinite(self.distance[i, a]) and np.isfinite(self.distance[j, b]):
                        self.target[i, j] = self.target[j, i] = 0


@pytest.fixture(scope="session")
def brute() -> type[Brute]:
    return Brute


@pytest.fixture(scope="session")
def make() -> Callable[[Sequence[Answer], int], Pairs]:
    def made(answers: Sequence[Answer], n: int) -> Pairs:
        columns = np.array(answers, dtype=np.float64).reshape(-1, 4)
        return Pairs.from_arrays(columns[:, :2].astype(int), columns[:, 2], columns[:, 3]).index(n)

    return made
