"""How hypothesis draws, and what the fuzz tests of all rooms share.

LIKEWISE_FUZZ is how many inputs each of them is given, 15 by default: LIKEWISE_FUZZ=10000 pytest tests -k fuzz
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from likewise.errors import InputError

INPUTS = int(os.environ.get("LIKEWISE_FUZZ", "15"))
MEMORY = 2**31  # bytes that an input may ask for beyond what is in use
CPU_SECONDS = 10.0  # that an input may take
RUBBISH = (
    b"\xff" * 8,
    b"\x00" * 8,
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"99999999999",
    b"-1",
    b"NaN",
    b'"',
    b"\n",
)

# The same inputs in every run, and no limit on their time: a busy machine is not an error.
settings.register_profile("likewise", max_examples=50, deadline=None, derandomize=True, database=None)
settings.register_profile(
    "fuzz", settings.get_profile("likewise"), max_examples=INPUTS, suppress_health_check=list(HealthCheck)
)
settings.load_profile("likewise")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Features and weights of encoders are kept apart from the user's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIKEWISE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@contextmanager
def few_candidates() -> Iterator[None]:
    """Inside, items are grouped by four candidates in place of twenty: for tests that do not ask how well.

    Most of a small fit goes into them. tests/clustering, tests/training and test_never_worse.py look at them all.
    """
    from likewise.clustering import agglomeration

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agglomeration, "FINE", (3,))
        patch.setattr(agglomeration, "NEIGHBOUR", (1.0,))
        patch.setitem(agglomeration.candidates.__kwdefaults__, "starts", 1)
        yield


@pytest.fixture(name="few_candidates", scope="session")
def few_candidates_fixture() -> Callable[[], AbstractContextManager[None]]:
    return few_candidates


@pytest.fixture(scope="session")
def damaged() -> Callable[[bytes], SearchStrategy[bytes]]:
    """What may become of a file: cut, flipped, spliced, with rubbish in it, or rubbish altogether."""
    return _damaged


def _damaged(content: bytes) -> SearchStrategy[bytes]:
    place = st.integers(0, len(content))
    flips = st.lists(st.tuples(st.integers(0, max(0, len(content) - 1)), st.integers(1, 255)), min_size=1, max_size=8)
    return st.one_of(
        place.map(lambda end: content[:end]),
        flips.map(lambda flips: _flipped(content, flips)),
        st.tuples(place, place, st.binary(max_size=40)).map(lambda cut: content[: cut[0]] + cut[2] + content[cut[1] :]),
        st.tuples(place, st.sampled_from(RUBBISH)).map(
            lambda put: content[: put[0]] + put[1] + content[put[0] + len(put[1]) :]
        ),
        st.binary(max_size=100),
    )


def _flipped(content: bytes, flips: list[tuple[int, int]]) -> bytes:
    found = bytearray(content)
    for place, bits in flips:
        if found:
            found[place] ^= bits
    return bytes(found)


@pytest.fixture(scope="session")
def sound_or_refused() -> Callable[[], AbstractContextManager[None]]:
    """Inside, an InputError of one line is all that may happen, with little memory and in a short time."""
    return _sound_or_refused


@contextmanager
def _sound_or_refused() -> Iterator[None]:
    started, said = time.process_time(), "nothing"
    try:
        with _little_memory(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except InputError as error:
        said = str(error)
    assert len(said.splitlines()) == 1, said
    assert time.process_time() - started < CPU_SECONDS


@contextmanager
def _little_memory() -> Iterator[None]:
    """What asks for too much gets a MemoryError, where the system can do that."""
    if sys.platform != "linux":
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
