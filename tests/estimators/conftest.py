"""Small fits group their items by few candidates; test_never_worse.py, which asks how well they do it, by all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest


@pytest.fixture(scope="module", autouse=True)
def _few_candidates(few_candidates: Callable[[], AbstractContextManager[None]]) -> Iterator[None]:
    with few_candidates():
        yield
