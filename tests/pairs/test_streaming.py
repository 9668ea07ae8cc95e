"""Numbers sorted on disk: as in memory, however they come and however small the runs and blocks are."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likewise.pairs import streaming
from likewise.pairs.streaming import DistinctOnDisk

NUMBERS = st.lists(st.lists(st.integers(-5, 2**62) | st.integers(0, 9), max_size=6), max_size=12)


@given(NUMBERS, st.integers(1, 9), st.integers(1, 9))
def test_each_number_comes_once_and_in_order(parts: list[list[int]], run: int, merged: int) -> None:
    with TemporaryDirectory() as name, patch.multiple(streaming, RUN=run, MERGED=merged):
        numbers = DistinctOnDisk(Path(name) / "numbers")
        for part in parts:
            numbers.add(np.array(part, dtype=np.int64))
        found = numbers.sorted()
        assert found.tolist() == sorted({number for part in parts for number in part})
        assert [path.name for path in Path(name).iterdir()] == ["numbers"]
        del found
