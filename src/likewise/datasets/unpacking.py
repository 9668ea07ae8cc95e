"""Compressed files and archives from elsewhere: unpacked in memory, and no further than an honest one goes."""

from __future__ import annotations

import gzip
from pathlib import Path

ALWAYS = 2**30  # bytes that any file may unpack to
TIMES = 100  # by how much larger than itself a file may become beyond that; MNIST becomes 5 times as large, zeros 1,000


def most_unpacked(packed: int) -> int:
    """How many bytes a file of `packed` bytes may unpack to.

    >>> most_unpacked(10) == 2**30, most_unpacked(2**30) == 100 * 2**30
    (True, True)
    """
    return max(ALWAYS, TIMES * packed)


def leads_outside(name: str) -> bool:
    """Whether the name of a file in an archive is not one below the folder that the archive would be unpacked to.

    >>> leads_outside("batches/one.bin"), leads_outside("../one.bin"), leads_outside("/one.bin"), leads_outside("C:one")
    (False, True, True, True)
    """
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or not parts[0] or parts[0][1:2] == ":"


class Gunzipped(gzip.GzipFile):
    """The bytes of a gzip file, to be read a block at a time; an OSError where they become far too many."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.most = most_unpacked(path.stat().st_size)
        self.left = self.most

    def read(self, size: int | None = -1) -> bytes:
        block = super().read(size)
        self.left -= len(block)
        if self.left < 0:
            raise OSError(f"it unpacks to more than {self.most:,} bytes")
        return block


def gunzip(path: Path) -> bytes:
    """The whole of a gzip file."""
    with Gunzipped(path) as stream:
        return b"".join(iter(lambda: stream.read(2**20), b""))
