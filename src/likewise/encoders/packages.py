"""Packages that bring encoders, and what is said where one is missing."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from likewise.errors import InputError


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def package_folder(module: str, encoder: str, install: str) -> Path:
    """Where a package lies, without importing it."""
    found = importlib.util.find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise InputError(f"The encoder {encoder} needs the package {module}; pip install {install}.")
    return Path(next(iter(found.submodule_search_locations)))


def package_version(distribution: str) -> str:
    try:
        return version_of(distribution)
    except PackageNotFoundError:
        return ""


def package(module: str, encoder: str, install: str) -> Any:
    """The package, imported; one that is there and cannot be imported says why."""
    if not is_installed(module):
        raise InputError(f"The encoder {encoder} needs the package {module}; pip install {install}.")
    try:
        return import_module(module)
    except Exception as error:  # packages raise whatever they meet: ImportError, RuntimeError, OSError, ...
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"The encoder {encoder} needs the package {module}, which cannot be imported ({reason}); install it anew."
        ) from error


def file_of(folder: Path, name: str, encoder: str, distribution: str) -> Path:
    """A file that a package should hold."""
    path = folder / name
    if not path.is_file():
        raise InputError(
            f"The encoder {encoder} needs {path}, which is missing; pip install --force-reinstall {distribution}."
        )
    return path
