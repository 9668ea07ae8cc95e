"""A loss or a weight that is no longer a number: stop at once, and say where and why."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from likewise.distributed import whole
from likewise.errors import InputError
from likewise.training.batches import Batch
from likewise.training.settings import Settings


class Diverged(InputError):
    """Training cannot go on; the last good checkpoint is kept."""


def check_loss(loss: float, logits: Tensor, batch: Batch, settings: Settings, place: str) -> None:
    """Raise Diverged unless the loss is finite."""
    if math.isfinite(loss):
        return
    bad = whole(~torch.isfinite(batch.inputs).flatten(1).all(1))  # (b,)
    if bad.any():
        cause = f"input {int(batch.index[bad][0])} contains NaN or infinity; repair it or leave it out"
    elif torch.isfinite(logits).all():
        cause = "the network's outputs are finite, so look at the objective and its targets"
    else:
        cause = _remedy(settings)
    raise Diverged(f"The loss became {loss} at {place}: {cause}.")


def check_weights(network: nn.Module, settings: Settings, place: str) -> None:
    """Raise Diverged unless every parameter and buffer is finite, so that no checkpoint holds anything else."""
    for name, value in [*network.named_parameters(), *network.named_buffers()]:
        if not torch.isfinite(value).all():
            raise Diverged(f"The weights {name} are no longer finite at {place}: {_remedy(settings)}.")


def _remedy(settings: Settings) -> str:
    rate = f"the learning rate {settings.learning_rate:g} is probably too high"
    if settings.precision == "bfloat16":
        return f"{rate} or bfloat16 too coarse; lower the rate or use precision float32"
    return f"{rate}; try {settings.learning_rate / 10:g}"
