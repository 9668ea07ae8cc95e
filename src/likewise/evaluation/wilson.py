"""Wilson's interval: what a count of hits says about the share behind it."""

from __future__ import annotations

import math
from statistics import NormalDist


def wilson(hits: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """The score interval (low, high) of a share of which `hits` of `n` were seen (Wilson, 1927).

        (p + z²/2n ± z √(p (1 - p) / n + z²/4n²)) / (1 + z²/n),    p = hits / n

    z is the normal quantile of (1 + confidence) / 2. Unlike p ± z √(p (1 - p) / n), it never leaves [0, 1] and never
    shrinks to a point, not even at 0 or n hits. Without a single trial it is (0, 1): nothing is known. It takes the
    trials as independent; of answers that share items see `share_interval`, which gives the number that they are worth.

    >>> low, high = wilson(149, 160)
    >>> round(low, 3), round(high, 3)
    (0.881, 0.961)
    """
    if not 0 <= hits <= n:
        raise ValueError(f"hits must be between 0 and n, got {hits} of {n}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    if n == 0:
        return 0.0, 1.0
    share, z = hits / n, NormalDist().inv_cdf((1 + confidence) / 2)
    middle = share + z**2 / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    scale = 1 + z**2 / n
    low = (middle - half) / scale if hits else 0.0  # the ends are exact, whatever rounding makes of them
    high = (middle + half) / scale if hits < n else 1.0
    return low, high
