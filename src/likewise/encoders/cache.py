"""A cache of features, looked up by the content of the item.

keys.bin   40 bytes for each row: SHA-256 of the item, CRC-32 of its features, CRC-32 of these two
rows.bin   the features, float32, in the same order
about.json what they were computed with, for people

Rows are written first, then their keys, under a lock: what a killed process leaves has no key and is written over. A
damaged key or row is not used, and computed again.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from likewise.storage.atomic_files import write_atomically, writing_to


# Where features and weights are kept between runs.
def cache_folder() -> Path:
    """LIKEWISE_CACHE, else the platform's folder for caches; it may be deleted at any time."""
    chosen = os.environ.get("LIKEWISE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "likewise" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "likewise"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "likewise"


if sys.platform != "win32":  # Windows has no such lock
    import fcntl

KEY = struct.Struct("<32sII")


class FeatureCache:
    """The rows of one encoder in a folder; several processes may use it at the same time.

    >>> import tempfile
    >>> cache = FeatureCache(Path(tempfile.mkdtemp()), 2, {"name": "example"})
    >>> cache.put([hashlib.sha256(b"item").digest()], np.ones((1, 2), np.float32))
    >>> cache.get(hashlib.sha256(b"item").digest()), cache.get(bytes(32))
    (array([1., 1.], dtype=float32), None)
    """

    def __init__(self, folder: Path, width: int, facts: dict[str, Any]) -> None:
        text = json.dumps(facts, sort_keys=True)
        self.folder = folder / hashlib.sha256(text.encode()).hexdigest()[:32]
        self.width = width
        with writing_to(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "about.json").exists():
            write_atomically(self.folder / "about.json", json.dumps(facts, indent=2, sort_keys=True) + "\n")
        self._place: dict[bytes, tuple[int, int]] = {}
        self._read = 0  # keys so far
        self.load()

    def load(self) -> None:
        """Read the keys that were added since; other processes may have."""
        path = self.folder / "keys.bin"
        size = path.stat().st_size if path.exists() else 0
        if size < self._read * KEY.size:  # somebody has emptied the folder
            self._place, self._read = {}, 0
        if not size:
            return
        with path.open("rb") as file:
            file.seek(self._read * KEY.size)
            content = file.read()
        for first in range(0, len(content) - KEY.size + 1, KEY.size):
            record = content[first : first + KEY.size]
            digest, of_row, own = KEY.unpack(record)
            if crc32(record[:-4]) == own:
                self._place[digest] = self._read, of_row
            self._read += 1

    def get(self, digest: bytes) -> NDArray[np.float32] | None:
        """The features of an item (width,), if they are here and sound; threads may ask."""
        known = self._place.get(digest)
        if known is None:
            return None
        place, expected = known
        try:
            with (self.folder / "rows.bin").open("rb") as file:
                file.seek(place * 4 * self.width)
                content = file.read(4 * self.width)
        except FileNotFoundError:
            content = b""
        if crc32(content) != expected or len(content) != 4 * self.width:
            self._place.pop(digest, None)
            return None
        return np.frombuffer(content, dtype=np.float32)

    def put(self, digests: Sequence[bytes], rows: NDArray[np.float32]) -> None:
        """Keep the features (n, width) of items."""
        contents = [np.ascontiguousarray(row, dtype=np.float32).tobytes() for row in rows]
        with self._alone() as (keys, values):
            place = keys.seek(0, 2) // KEY.size  # what a killed process left of a key, or of a row, is written over
            values.seek(place * 4 * self.width)
            values.write(b"".join(contents))
            values.flush()
            keys.seek(place * KEY.size)
            for number, (digest, content) in enumerate(zip(digests, contents, strict=True)):
                of_row = crc32(content)
                key = digest + struct.pack("<I", of_row)
                keys.write(key + struct.pack("<I", crc32(key)))
                self._place[digest] = place + number, of_row
            keys.flush()

    @contextmanager
    def _alone(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """The two files to write to, while no other process does."""
        keys, values = (self.folder / name for name in ("keys.bin", "rows.bin"))
        with writing_to(keys):
            for path in (keys, values):
                path.touch()
            with keys.open("r+b") as one, values.open("r+b") as other:
                if sys.platform != "win32":
                    fcntl.flock(one, fcntl.LOCK_EX)  # until the file is closed
                yield one, other
