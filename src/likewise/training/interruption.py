"""Ctrl-C: the step at hand is finished and saved first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from likewise.distributed import world

Handler = Callable[[int, FrameType | None], object] | int


class Interrupted(KeyboardInterrupt):
    """Training was stopped by Ctrl-C after a whole step; the message says how to go on."""


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
    """Processes started inside leave Ctrl-C to this one, so that the step at hand still gets its batch."""
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
