"""Items and answers on disk: the first process alone reads and writes them, and all have the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from likewise.datasets import keep_on_disk, on_disk, open_items
from likewise.distributed import world
from likewise.errors import InputError

In = Callable[..., list[Any]]


def kept(path: Path, folder: Path) -> tuple[torch.Tensor, bool]:
    wrote: list[bool] = []
    check = on_disk._check_room
    on_disk._check_room = lambda *told: wrote.append(True) or check(*told)
    return keep_on_disk(open_items(path, chunk=3), folder).inputs[:], bool(wrote)


def refused(path: Path, folder: Path) -> str:
    with pytest.raises(InputError) as error:
        keep_on_disk(open_items(path, chunk=3) if world().rank == 0 else open_items(path), folder)
    return str(error.value)


def test_the_first_writes_for_all(in_ranks: In, tmp_path: Path) -> None:
    features = np.random.default_rng(0).normal(size=(10, 2)).astype(np.float32)
    np.save(tmp_path / "features.npy", features)
    ranks = in_ranks(2, kept, tmp_path / "features.npy", tmp_path / "items")
    assert [wrote for _, wrote in ranks] == [True, False]
    for inputs, _ in ranks:
        np.testing.assert_array_equal(inputs, features)


def test_what_the_first_refuses_all_refuse(in_ranks: In, tmp_path: Path) -> None:
    features = np.zeros((10, 2), dtype=np.float32)
    features[7, 1] = np.nan
    np.save(tmp_path / "features.npy", features)
    first, second = in_ranks(2, refused, tmp_path / "features.npy", tmp_path / "items")
    assert first == second
    assert "row 7: column 1 is nan" in first
