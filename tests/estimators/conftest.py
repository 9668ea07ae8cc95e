"""The many small fits of some files group their items by few candidates; how well they do it is asked elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest

QUICK = (
    "test_encoding",
    "test_increments",
    "test_pair_classifier",
    "test_pair_folds",
    "test_refit",
    "test_sklearn_checks",
    "test_unit_length",
    "test_wrong_answers",
)


@pytest.fixture(scope="module", autouse=True)
def _few_candidates(
    request: pytest.FixtureRequest, few_candidates: Callable[[], AbstractContextManager[None]]
) -> Iterator[None]:
    with few_candidates() if request.path.stem in QUICK else nullcontext():
        yield
