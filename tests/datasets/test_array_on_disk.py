"""An array in its file: indexed as the tensor that all of it would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import ArrayOnDisk
from likewise.errors import InputError


@pytest.mark.parametrize(
    "index",
    [torch.tensor([6, 0, 0]), slice(1, 4), slice(None), torch.arange(7) % 2 == 0, torch.tensor([], dtype=torch.int64)],
    ids=["numbers", "slice", "all", "mask", "none"],
)
@pytest.mark.parametrize(
    ("kind", "shape"), [(np.uint8, (7, 3, 4, 4)), (np.float32, (7, 5))], ids=["images", "features"]
)
def test_an_index_gives_what_the_whole_tensor_gives(
    tmp_path: Path, kind: type, shape: tuple[int, ...], index: torch.Tensor | slice
) -> None:
    whole = np.random.default_rng(0).integers(0, 256, shape).astype(kind)
    np.save(tmp_path / "array.npy", whole)
    array = ArrayOnDisk(tmp_path / "array.npy")
    tensor = torch.from_numpy(whole)
    assert (len(array), array.shape, array.ndim, array.dtype) == (7, shape, len(shape), tensor.dtype)
    assert torch.equal(array[index], tensor[index])
    array[index].zero_()  # a copy of one's own
    assert torch.equal(array[:], tensor)


def test_rows_that_do_not_count(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.arange(6, dtype=np.float32).reshape(3, 2))
    array = ArrayOnDisk(tmp_path / "array.npy", n_rows=2)
    assert (len(array), array.shape) == (2, (2, 2))
    assert array[:].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(IndexError):
        array[torch.tensor([2])]


def test_what_cannot_be_read_row_by_row_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "wide.npy", np.zeros((3, 2)))
    with pytest.raises(InputError, match=r"wide.npy holds float64; write it again, uint8 or float32 and row by row"):
        ArrayOnDisk(tmp_path / "wide.npy")
    np.save(tmp_path / "columns.npy", np.asfortranarray(np.zeros((3, 2), dtype=np.float32)))
    with pytest.raises(InputError, match=r"holds float32 column by column"):
        ArrayOnDisk(tmp_path / "columns.npy")
