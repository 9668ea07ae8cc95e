"""Which rows are whose, who writes, and how the others hear what the first decides."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from likewise.distributed import World, agreed, barrier, from_first, share, world
from likewise.errors import InputError
from likewise.storage.atomic_files import is_writer, open_atomically, write_atomically
from likewise.storage.run_folder import lock_folder


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_shares_lie_one_after_another_and_cover_the_batch(size: int) -> None:
    for b in range(2, 40):
        shares = [share(b, World(rank, size)) for rank in range(size)]
        rows = [list(range(b))[own.rows] for own in shares]
        if size > 1 and b < 2 * size:
            assert all(part == list(range(b)) for part in rows)
        else:
            assert list(chain(*rows)) == list(range(b))
            assert max(map(len, rows)) - min(map(len, rows)) <= 1
            assert min(map(len, rows)) >= 2
        for position in range(b + 1):
            assert [own.before(position) for own in shares] == [sum(row < position for row in part) for part in rows]


def test_ranks_with_the_same_rows_draw_the_same_numbers() -> None:
    assert {share(5, World(rank, 3)).salt for rank in range(3)} == {()}
    assert len({share(9, World(rank, 3)).salt for rank in range(3)}) == 3
    assert share(9, World(0, 1)).salt == ()


def write_and_hear(folder: Path) -> dict[str, Any]:
    rank = world().rank
    with lock_folder(folder):
        write_atomically(folder / f"whole-{rank}", "text")
        with open_atomically(folder / f"table-{rank}.parquet") as file:
            pyarrow.parquet.write_table(pa.table({"a": list(range(1000))}), file)
        try:
            told = from_first(lambda: refuse("rank 0 says no") if rank == 0 else refuse("nobody asks"))
        except InputError as error:
            told = str(error)
        barrier()
        return {
            "writer": is_writer(),
            "files": sorted(os.listdir(folder)),  # noqa: PTH208
            "told": told,
            "agreed": agreed({"loss": 0.1 + rank, "nothing": float("nan"), "rank": rank}),
        }


def refuse(sentence: str) -> str:
    raise InputError(sentence)


def test_one_rank_writes_and_decides(in_ranks: Callable[..., list[Any]], tmp_path: Path) -> None:
    for rank, found in enumerate(in_ranks(3, write_and_hear, tmp_path / "run")):
        assert found["writer"] == (rank == 0)
        assert found["files"] == ["table-0.parquet", "whole-0"]
        assert found["told"] == "rank 0 says no"
        assert found["agreed"]["loss"] == 0.1
        assert found["agreed"]["rank"] == 0


def die_or_hear() -> str:
    if world().rank == 1:
        os._exit(0)
    try:
        torch.distributed.all_reduce(torch.zeros(1))
    except RuntimeError as error:
        from likewise.distributed import is_lost

        return str(is_lost(error))
    return "nothing happened"


def test_a_dead_rank_is_known_as_such(in_ranks: Callable[..., list[Any]], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):  # of the dead one
        in_ranks(2, die_or_hear)
    (survivor,) = tmp_path.glob("call-*/rank-0.pt")
    assert torch.load(survivor) == "True"
