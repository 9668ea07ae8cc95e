"""When it is sensible to stop: audits, patience and stable classes agree.

    audits      the estimate of the accuracy is at the target, and its interval does not reach far below
    patience    the beliefs without the last n answers foretold these answers: no one of them changed a mind. Surprises
                are few and independent, so their rate is at most -log(1 - CONFIDENCE) / n of the answers (Poisson)
    stable      since then hardly any item has changed its class

A wrong answer is no surprise where the beliefs do not follow it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from likewise.clustering.constraints import Ints
from likewise.querying.beliefs import Beliefs

PATIENCE = 20  # answers: the rate of surprises is below 3 in 20 then, with a confidence of 95 %
STABLE = 0.01  # of the items may have changed their class over these answers
FEWEST_AUDITS = 4
LEAST_LOW = 0.15  # how far below the target the lower end of the interval may be
ENOUGH_AUDITS = 20  # with so many the estimate alone decides


def audits_agree(accuracy: tuple[float, float, float], audits: int, target: float) -> bool:
    """Whether random audits say that the target is reached."""
    estimate, low, _ = accuracy
    return estimate >= target and audits >= FEWEST_AUDITS and (low >= target - LEAST_LOW or audits >= ENOUGH_AUDITS)


def settled(before: Beliefs, now: Beliefs, accuracy: tuple[float, float, float]) -> str | None:
    """A sentence where the answers after `before` changed neither a mind nor the classes."""
    new = slice(len(before.same), None)
    foretold, known = together(before, now.ends[new]), together(now, now.ends[new])
    if (foretold != known).any() or changed(before, now) > STABLE:
        return None
    estimate, low, high = (round(100 * share) for share in accuracy)
    return (
        f"About {estimate} % of the items are in the right class ({low} to {high} %), and the last "
        f"{len(now.same) - len(before.same)} answers changed little: it is sensible to stop."
    )


def together(beliefs: Beliefs, pairs: Ints | Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """(m,) Whether two items are in one class; two that are new are not."""
    column = beliefs.posterior.argmax(axis=1)[np.asarray(pairs, dtype=np.int64).reshape(-1, 2)]
    return np.asarray((column[:, 0] == column[:, 1]) & (column[:, 0] < beliefs.parts.n_clusters))


def changed(before: Beliefs, now: Beliefs) -> float:
    """The share of the items that are not where most of their class went."""
    old, new = (beliefs.posterior.argmax(axis=1) for beliefs in (before, now))
    table = np.zeros((before.posterior.shape[1], now.posterior.shape[1]))
    np.add.at(table, (old, new), 1)
    kept = min(float(table.max(axis=0).sum()), float(table.max(axis=1).sum()))
    return 1 - kept / len(old)
