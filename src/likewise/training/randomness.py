"""All randomness of a run as a pure function of (seed, epoch, step), so that resuming needs no generator's state."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.utils.deterministic

ORDER, AUGMENT, FETCH, STEP = range(4)  # what a number is drawn for: each purpose has a stream of its own


def mix(*numbers: int) -> int:
    """Hash whole numbers into one of 63 bits, by splitmix64's finaliser after each; neighbours land far apart.

    >>> mix(0, 1) == mix(0, 1), mix(0, 1) == mix(1, 0)
    (True, False)
    """
    mask = (1 << 64) - 1
    hashed = 0
    for number in numbers:
        z = ((hashed ^ (number & mask)) + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        hashed = z ^ (z >> 31)
    return hashed >> 1


def generator(*numbers: int) -> torch.Generator:
    """A generator of its own that starts from `mix(*numbers)`."""
    return torch.Generator().manual_seed(mix(*numbers))


def seed_all(*numbers: int) -> None:
    """Start the global generators of torch, NumPy and Python from `mix(*numbers)`."""
    seed = mix(*numbers)
    torch.default_generator.manual_seed(seed)
    # torch.manual_seed would note down the whole call stack for a GPU that is not in use, which costs more than a step
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    if torch.backends.mps.is_available():
        torch.mps.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 - a user's data set may draw from the old global generator
    random.seed(seed)


@contextmanager
def reproducible() -> Iterator[None]:
    """Deterministic algorithms inside, and the caller's global generators as they were afterwards.

    Where torch has no deterministic kernel it warns and continues. On the CPU this matters too: the gradient of
    indexing a large tensor is summed by racing threads otherwise. NVIDIA's cuBLAS also wants the variable
    `CUBLAS_WORKSPACE_CONFIG=:4096:8` set before Python starts.
    """
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    mode = torch.get_deterministic_debug_mode()
    memory: Any = torch.utils.deterministic
    filled = memory.fill_uninitialized_memory
    try:
        with torch.random.fork_rng(range(torch.cuda.device_count())):
            torch.set_deterministic_debug_mode("warn")
            memory.fill_uninitialized_memory = False  # it costs time and only finds bugs
            yield
    finally:
        torch.set_deterministic_debug_mode(mode)
        memory.fill_uninitialized_memory = filled
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
