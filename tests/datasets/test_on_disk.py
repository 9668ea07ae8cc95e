"""Images that stay in their files: indexed as the tensor that all of them would be."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.datasets import ImagesOnDisk, load_folder
from likewise.datasets.folder import list_files
from likewise.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    for name in ("a/1.png", "a/2.png", "b/1.png", "b/2.png", "b/3.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.fromarray(random.integers(0, 256, (9, 7, 3), dtype=np.uint8)).save(path)
    return tmp_path


@pytest.mark.parametrize(
    "index",
    [torch.tensor([4, 0, 0]), slice(1, 4), slice(None), torch.tensor([True, False, True, False, True])],
    ids=["numbers", "slice", "all", "mask"],
)
def test_an_index_gives_what_the_whole_tensor_gives(folder: Path, index: torch.Tensor | slice) -> None:
    whole = load_folder(folder, size=8)
    images = ImagesOnDisk(list_files(folder), 8)
    assert (len(images), images.shape, images.dtype) == (5, (5, 3, 8, 8), torch.uint8)
    assert torch.equal(images[index], whole.inputs[index])


def test_a_damaged_file_is_named(folder: Path) -> None:
    (folder / "b" / "2.png").write_bytes(b"no image")
    images = ImagesOnDisk(list_files(folder), 8)
    assert len(images[torch.tensor([0])]) == 1
    with pytest.raises(InputError, match=r"b/2.png cannot be read .*; replace it, or delete it and begin again."):
        images[torch.tensor([3])]
