"""The folder of real data sets, for the tests that look at them where they are there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def real_data() -> Callable[[str], Path]:
    def folder_with(name: str) -> Path:
        data = os.environ.get("LIKEWISE_DATA")
        if not data or not (Path(data) / name).is_dir():
            pytest.skip(f"LIKEWISE_DATA is not set to a folder that holds {name}/")
        return Path(data)

    return folder_with


@pytest.fixture
def real_file() -> Callable[[str], Path]:
    def path_of(name: str) -> Path:
        path = Path(os.environ.get("LIKEWISE_DATA") or "no folder") / name
        if not path.is_file():
            pytest.skip(f"LIKEWISE_DATA is not set to a folder that holds {name}")
        return path

    return path_of
