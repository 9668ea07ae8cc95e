"""The fingerprint of items and answers, by which a run knows whether it resumes with the same data: SHA-256."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fingerprint(parts: Iterable[NDArray[Any] | str]) -> str:
    """SHA-256 of the bytes of arrays and texts, in order; an array may come in pieces of any length.

    >>> fingerprint([np.arange(4), "a"]) == fingerprint([np.arange(2), np.arange(2, 4), "a"])
    True
    >>> fingerprint([np.arange(4)]) == fingerprint([np.arange(5)])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode(errors="surrogateescape"))
        else:
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
