"""Features that are kept: found again, and recomputed where the files are damaged."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from likewise.encoders.cache import KEY, FeatureCache

DIGESTS = [sha256(bytes([number])).digest() for number in range(5)]
ROWS = np.arange(15, dtype=np.float32).reshape(5, 3)


def filled(folder: Path) -> FeatureCache:
    cache = FeatureCache(folder, 3, {"name": "example"})
    cache.put(DIGESTS[:2], ROWS[:2])
    cache.put(DIGESTS[2:], ROWS[2:])
    return cache


def known(folder: Path) -> list[int]:
    cache = FeatureCache(folder, 3, {"name": "example"})
    rows = [cache.get(digest) for digest in DIGESTS]
    for number, row in enumerate(rows):
        if row is not None:
            np.testing.assert_array_equal(row, ROWS[number])
    return [number for number, row in enumerate(rows) if row is not None]


def test_rows_are_there_for_the_next_process(tmp_path: Path) -> None:
    filled(tmp_path)
    assert known(tmp_path) == [0, 1, 2, 3, 4]
    assert FeatureCache(tmp_path, 3, {"name": "another"}).get(DIGESTS[0]) is None


def test_another_process_may_add_rows_at_the_same_time(tmp_path: Path) -> None:
    one, other = (FeatureCache(tmp_path, 3, {"name": "example"}) for _ in range(2))
    one.put(DIGESTS[:2], ROWS[:2])
    other.put(DIGESTS[2:4], ROWS[2:4])
    one.put(DIGESTS[4:], ROWS[4:])
    assert known(tmp_path) == [0, 1, 2, 3, 4]
    assert other.get(DIGESTS[0]) is None
    other.load()
    np.testing.assert_array_equal(other.get(DIGESTS[0]), ROWS[0])


@pytest.mark.parametrize(
    ("file", "size", "left"),
    [
        ("keys.bin", 3 * KEY.size + 7, [0, 1, 2]),  # killed while a key was written
        ("rows.bin", 3 * 12 + 5, [0, 1, 2]),  # the disk lost the end
        ("rows.bin", 0, []),
        ("keys.bin", 0, []),
    ],
)
def test_files_that_were_cut_lose_what_was_cut(tmp_path: Path, file: str, size: int, left: list[int]) -> None:
    path = filled(tmp_path).folder / file
    path.write_bytes(path.read_bytes()[:size])
    assert known(tmp_path) == left
    FeatureCache(tmp_path, 3, {"name": "example"}).put(DIGESTS, ROWS)
    assert known(tmp_path) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("place", [0, 33, 38])
def test_a_damaged_key_is_forgotten(tmp_path: Path, place: int) -> None:
    path = filled(tmp_path).folder / "keys.bin"
    content = bytearray(path.read_bytes())
    content[KEY.size + place] ^= 1
    path.write_bytes(content)
    assert known(tmp_path) == [0, 2, 3, 4]


def test_a_damaged_row_is_forgotten(tmp_path: Path) -> None:
    path = filled(tmp_path).folder / "rows.bin"
    content = bytearray(path.read_bytes())
    content[3 * 12 + 1] ^= 1
    path.write_bytes(content)
    assert known(tmp_path) == [0, 1, 2, 4]
