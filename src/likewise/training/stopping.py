"""Why a run stops early: Ctrl-C, after the current step is saved; or a loss or weight that is no longer finite."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from likewise.distributed import gather_batch, world
from likewise.errors import InputError

if TYPE_CHECKING:
    from likewise.training.batches import Batch
    from likewise.training.settings import Settings

Handler = Callable[[int, FrameType | None], object] | int


class Interrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C after a whole step; the message says how to resume."""


class StopRequest:
    """Whether Ctrl-C was pressed."""

    asked = False


@contextmanager
def stop_request() -> Iterator[StopRequest]:
    """Inside, the first Ctrl-C only sets `asked`, a second one stops at once; only the main thread can do this.

    Of several ranks none stops at once: torchrun passes a Ctrl-C on that they all have had already.
    """
    request = StopRequest()

    def ask(signum: int, frame: FrameType | None) -> None:
        request.asked = True
        if world().size == 1:
            signal.signal(signal.SIGINT, previous)

    with _sigint(ask) as previous:
        yield request


@contextmanager
def workers_ignore_ctrl_c() -> Iterator[None]:
    """Processes started inside leave Ctrl-C to this one, so that the current step still gets its batch."""
    with _sigint(signal.SIG_IGN):
        yield


@contextmanager
def _sigint(handler: Handler) -> Iterator[Handler]:
    """The handler in force inside, the previous one (which is given) afterwards."""
    previous = signal.getsignal(signal.SIGINT) or signal.default_int_handler
    if threading.current_thread() is not threading.main_thread():
        yield previous
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield previous
    finally:
        signal.signal(signal.SIGINT, previous)


# A loss or a weight that is no longer a number: stop at once, and say where and why.
class Diverged(InputError):
    """Training cannot continue; the last good checkpoint is kept."""


def check_loss(loss: float, logits: Tensor, batch: Batch, settings: Settings, place: str) -> None:
    """Raise Diverged unless the loss is finite."""
    if math.isfinite(loss):
        return
    bad = gather_batch(~torch.isfinite(batch.inputs).flatten(1).all(1))  # (b,)
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
