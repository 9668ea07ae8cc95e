"""Vectors of length 1, whatever their length was, in memory and from disk alike."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import ArrayOnDisk, UnitLengthOnDisk, to_unit_length


@pytest.mark.parametrize("scale", [1e-42, 1e-30, 1.0, 1e30])
def test_rows_have_length_1_and_keep_their_direction(scale: float) -> None:
    given = torch.tensor([[3.0, -4.0], [0.0, 1.0], [5.0, 12.0]])
    expected = torch.tensor([[0.6, -0.8], [0.0, 1.0], [5 / 13, 12 / 13]])
    tolerance = 1e-2 if scale < 1e-38 else 1e-6  # numbers so small have few digits
    torch.testing.assert_close(to_unit_length(given * scale), expected, atol=tolerance, rtol=0)


def test_zeros_stay_zeros_and_the_input_stays_as_it_was() -> None:
    given = torch.tensor([[0.0, 0.0], [2.0, 0.0]])
    assert to_unit_length(given).tolist() == [[0, 0], [1, 0]]
    assert given.tolist() == [[0, 0], [2, 0]]


@pytest.mark.parametrize("kind", [np.float32, np.uint8])
def test_rows_on_disk_are_those_in_memory(tmp_path: Path, kind: type) -> None:
    whole = np.random.default_rng(0).integers(0, 9, (7, 5)).astype(kind)
    np.save(tmp_path / "array.npy", whole)
    array = UnitLengthOnDisk(ArrayOnDisk(tmp_path / "array.npy"))
    expected = to_unit_length(torch.from_numpy(whole).float())
    assert (len(array), array.shape, array.ndim, array.dtype) == (7, (7, 5), 2, torch.float32)
    for index in (torch.tensor([6, 0, 0]), slice(1, 4)):
        assert torch.equal(array[index], expected[index])
