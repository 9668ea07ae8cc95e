"""Learning rates as pure functions of the step: nothing to save, so a resumed run cannot drift."""

from __future__ import annotations

import math

from likewise.training.settings import Settings

WARM_UP = 0.3  # the share of all steps in which "one-cycle" climbs


def learning_rate(settings: Settings, epoch: int, step: int, steps_per_epoch: int) -> float:
    """The rate of one step; epoch and step count from 0.

    "step" is the paper's: the rate divided by ten at each epoch in `drops`. "one-cycle" climbs in a straight line for
    30 % of all steps and falls to zero along a cosine, both taken at the middle of the step, so no step is lost at 0.

    >>> settings = Settings(epochs=30, learning_rate=0.001, drops=(15, 25))
    >>> [learning_rate(settings, epoch, 0, 600) for epoch in (0, 14, 15, 25)]
    [0.001, 0.001, 0.0001, 1e-05]
    """
    if settings.schedule == "step":
        return settings.learning_rate / 10.0 ** sum(drop <= epoch for drop in settings.drops)
    position = (epoch * steps_per_epoch + step + 0.5) / (settings.epochs * steps_per_epoch)  # in (0, 1)
    if position < WARM_UP:
        return settings.learning_rate * position / WARM_UP
    return settings.learning_rate * 0.5 * (1 + math.cos(math.pi * (position - WARM_UP) / (1 - WARM_UP)))
