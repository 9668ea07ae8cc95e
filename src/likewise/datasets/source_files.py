"""The files of a data set: where they are looked for, what to say where they are missing, and how they are unpacked."""

from __future__ import annotations

import gzip
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from likewise.errors import InputError

OWN_FOLDER = ("fashion-mnist",)  # its files have MNIST's names, so that only their folder tells them apart


def data_folder(data: Path | str | None = None) -> Path:
    """The folder that holds `mnist/`, `cifar10/`, ...: the argument, else LIKEWISE_DATA, else `data` right here."""
    return Path(data or os.environ.get("LIKEWISE_DATA") or "data").expanduser()


def find(name: str, files: Sequence[str], data: Path | str | None = None) -> Path | None:
    """The first of the files (or folders) that is in the set's own folder or in the data folder itself.

    A set of `OWN_FOLDER` is looked for in its own folder alone.
    """
    folder = data_folder(data)
    folders = [folder / name] if name in OWN_FOLDER else [folder / name, folder]
    return next((place / file for file in files for place in folders if (place / file).exists()), None)


def locate(name: str, files: Sequence[str], data: Path | str | None = None) -> Path:
    """Like `find`, but when none is there the first is named in an InputError that says how to get it."""
    place = find(name, files, data)
    if place is None:
        command = get_command(name, data)
        raise InputError(f"{name}/{files[0]} is not in {data_folder(data)}; run `{command}` or set LIKEWISE_DATA.")
    return place


def get_command(name: str, data: Path | str | None = None) -> str:
    return f"likewise data get {name} --data {shlex.quote(str(data_folder(data)))}"


def get_again(name: str, data: Path | str | None = None, instead_of: str | Path = "it") -> str:
    """What to do about a damaged file or folder, for the end of a sentence."""
    return f"delete {instead_of} and run `{get_command(name, data)}`"


# Compressed files and archives from elsewhere: unpacked in memory, and no further than an honest one goes.

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
