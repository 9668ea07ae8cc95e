"""Whether a similarity is fit to find classes with: is it sure of anything, and does it agree with itself?

If i is the same as j, and j as k, then i is the same as k. Where a similarity says otherwise of many such triples, or
says "same" hardly ever or nearly always, what is found with it are not classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

LEAST_CONFIDENT, LEAST_CLOSED, MOST_ALONE, MOST_TOGETHER = 0.5, 0.5, 0.5, 0.9


@dataclass(frozen=True)
class Trust:
    """Shares, all of them between 0 and 1.

    >>> Trust(confident=0.9, closed=0.8, alone=0.0, together=0.2).doubts
    ()
    >>> Trust(confident=0.9, closed=0.8, alone=0.0, together=0.99).doubts
    ('it takes 99 % of the pairs for the same',)
    """

    confident: float  # of the pairs: below 0.2 or above 0.8
    closed: float  # of the chains i = j = k: those with i = k
    alone: float  # of the items: those that are the same as no other
    together: float  # of the pairs: those that are the same

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the classes that are found with it; empty where nothing does."""
        found = []
        if self.confident < LEAST_CONFIDENT:
            found.append(f"it is sure of {100 * self.confident:.0f} % of the pairs only")
        if self.closed < LEAST_CLOSED:
            found.append(f"it contradicts itself in {100 * (1 - self.closed):.0f} % of the chains i = j = k")
        if self.alone > MOST_ALONE:
            found.append(f"it finds nothing that is the same as {100 * self.alone:.0f} % of the items")
        if self.together > MOST_TOGETHER:
            found.append(f"it takes {100 * self.together:.0f} % of the pairs for the same")
        return tuple(found)


def trust(similarity: ArrayLike) -> Trust:
    """Look at the probabilities of "same" of all pairs of n items, (n, n); an item with itself does not count.

    >>> trust([[1, 0.9, 0.9], [0.9, 1, 0.1], [0.9, 0.1, 1]])
    Trust(confident=1.0, closed=0.0, alone=0.0, together=0.6666666865348816)
    """
    s = np.asarray(similarity, dtype=np.float32)
    if s.ndim != 2 or s.shape[0] != s.shape[1] or len(s) < 2:
        raise ValueError(f"similarity must be (n, n) for two items or more, got {s.shape}.")
    apart = ~np.eye(len(s), dtype=np.bool_)
    same = ((s > 0.5) & apart).astype(np.float32)
    chains = same @ same  # (i, k): how many j are the same as both
    n_chains = float((chains * apart).sum())
    closed = float((chains * same).sum()) / n_chains if n_chains else 1.0
    confident = float(((s < 0.2) | (s > 0.8))[apart].mean())
    return Trust(confident, closed, float((same.sum(1) == 0).mean()), float(same[apart].mean()))
