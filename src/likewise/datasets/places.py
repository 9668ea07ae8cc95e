"""Where the files of a data set are looked for, and what to say when they are missing or damaged."""

from __future__ import annotations

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
