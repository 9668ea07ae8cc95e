"""Files that appear whole or not at all; of many processes of one job, the first alone writes them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


def is_writer() -> bool:
    """Whether this process writes: all do but those that torch.distributed says are not the first of their job."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return True
    return bool(distributed.get_rank() == 0)


@contextmanager
def replacing(path: Path, keep: Path | None = None) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` at the end, and is gone without a trace after an error.

    At any moment, even of a kill or a power cut, the old file or the new one is there, whole; with `keep` the old one
    is then called that. What a process that does not write (see `is_writer`) writes to it goes nowhere.
    """
    if not is_writer():
        with Path(os.devnull).open("wb") as nowhere:
            yield nowhere
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp")  # one fixed name: what a kill leaves is overwritten the next time
    try:
        with temporary.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if keep is not None and path.exists():
            path.replace(keep)
        temporary.replace(path)
    except OSError as error:
        if error.errno is not None and error.filename is None:  # a full disk does not say which file it was
            error.filename = str(path)
        raise
    finally:
        with suppress(OSError):  # it may not be there, and what is wrong with the disk has been told
            temporary.unlink()
    if os.name != "nt":  # Windows cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_whole(path: Path, content: bytes | str, keep: Path | None = None) -> None:
    """Write a file that is known whole."""
    with replacing(path, keep) as file:
        file.write(content.encode() if isinstance(content, str) else content)
