"""Where a command may write: looked at before the work begins, and told in one sentence when writing fails."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from likewise.errors import InputError


def check_file(path: Path, option: str, suffixes: tuple[str, ...]) -> None:
    """Refuse what cannot become a file of this kind; nothing is made yet."""
    if path.suffix.lower() not in suffixes:
        raise InputError(f"{path} must end in {' or '.join(suffixes)}; give {option} such a name.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give {option} the name of a file.")
    _check_writable(path, option)


def check_folder(path: Path, option: str) -> None:
    """Refuse what cannot become a folder or cannot be written to; nothing is made yet."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file; give {option} the name of a folder.")
    _check_writable(path / "within", option)


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Inside, an OSError becomes a sentence that says which file cannot be written, or read."""
    try:
        yield
    except OSError as error:
        from likewise.storage.atomic_files import failed_to_write

        reason, again = error.strerror or error, "set that right and run the same command again"
        if not failed_to_write(error):
            raise InputError(f"{error.filename or 'A file'} cannot be read ({reason}); {again}.") from error
        raise InputError(
            f"{error.filename or path} cannot be written ({reason}); {again}, or give {option} another place."
        ) from error


def _check_writable(path: Path, option: str) -> None:
    there = next(folder for folder in path.absolute().parents if folder.exists())
    if not there.is_dir():
        raise InputError(f"{path} cannot be made, because {there} is a file; give {option} another place.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{there} cannot be written to; give {option} another place.")
