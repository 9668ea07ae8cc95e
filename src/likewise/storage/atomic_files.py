"""Files that appear whole or not at all; of many processes of one job, the first alone writes them."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

ONLY_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG)  # fails so


class WriteError(OSError):
    """A file or folder cannot be written; `filename` says which."""


def failed_to_write(error: OSError) -> bool:
    """Whether an OSError came from writing, not from reading.

    >>> failed_to_write(OSError(errno.ENOSPC, "No space left on device")), failed_to_write(FileNotFoundError())
    (True, False)
    """
    return isinstance(error, WriteError) or error.errno in ONLY_WRITING or error.filename2 is not None  # a rename


def is_writer() -> bool:
    """Whether this process writes: all do but those that torch.distributed says are not the first of their job."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return True
    return bool(distributed.get_rank() == 0)


@contextmanager
def open_atomically(path: Path, keep: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` at the end, and is gone without a trace after an error.

    At any moment, even of a kill or a power cut, the old file or the new one is there, whole; with `keep` the old one
    is then called that. What a process that does not write (see `is_writer`) writes to it goes nowhere.
    """
    if not is_writer():
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    temporary = path.with_name(f".{path.name}.tmp")  # one fixed name: what a kill leaves is overwritten the next time
    try:
        with writing_to(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            file = io.BufferedWriter(_Raw(temporary, path))
        with file:
            try:
                yield file
            except OSError as error:
                if error.filename is not None or not (error.errno is None or failed_to_write(error)):
                    raise  # of reading what is to be written, or with its file in it already
                raise WriteError(error.errno, error.strerror or str(error), str(path)) from error  # of NumPy, mostly
            with writing_to(path):
                file.flush()
                os.fsync(file.fileno())
        with writing_to(path):
            if keep is not None and path.exists():
                path.replace(keep)
            temporary.replace(path)
    finally:
        with suppress(OSError):  # it may not exist, and the fault of the disk has been reported
            temporary.unlink()
    if os.name != "nt":  # Windows cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class _Raw(io.FileIO):
    """The file itself, whose failures are told from those of reading what is written to it."""

    def __init__(self, temporary: Path, path: Path) -> None:
        super().__init__(temporary, "w")
        self.path = path

    def write(self, data: Any, /) -> int:
        with writing_to(self.path):
            return super().write(data)


@contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Inside, an OSError means that this file cannot be written."""
    try:
        yield
    except OSError as error:
        raise WriteError(error.errno, error.strerror or str(error), str(path)) from error


def write_atomically(path: Path, content: bytes | str, keep: Path | None = None) -> None:
    """Write a file of this content; see `open_atomically`."""
    with open_atomically(path, keep) as file:
        file.write(content.encode() if isinstance(content, str) else content)
