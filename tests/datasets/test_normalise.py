"""Normalisation against the formula in float64."""

from __future__ import annotations

import pytest
import torch

from likewise.datasets import normalise
from likewise.errors import InputError

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_bytes_are_scaled_then_normalised_by_channel(layout: torch.memory_format) -> None:
    images = torch.arange(2 * 3 * 64).remainder(256).to(torch.uint8).view(2, 3, 8, 8).contiguous(memory_format=layout)
    out = normalise(images, MEAN, STD)
    expected = (images.double() / 255 - torch.tensor(MEAN).view(1, 3, 1, 1)) / torch.tensor(STD).view(1, 3, 1, 1)
    assert out.dtype == torch.float32
    assert out.is_contiguous(memory_format=layout)
    torch.testing.assert_close(out, expected.float(), rtol=1e-5, atol=1e-6)


def test_float_images_are_not_scaled() -> None:
    out = normalise(torch.full((1, 1, 2, 2), 3.0), (1.0,), (4.0,))
    assert out.unique().tolist() == [0.5]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_features_by_column_and_the_argument_is_not_changed(dtype: torch.dtype) -> None:
    features = torch.tensor([[1.0, 10.0], [3.0, 30.0]], dtype=dtype)
    assert normalise(features, (1.0, 10.0), (2.0, 5.0)).tolist() == [[0, 0], [1, 4]]
    assert features.tolist() == [[1, 10], [3, 30]]


def test_without_statistics() -> None:
    features = torch.tensor([[1.5, -2.0]], dtype=torch.float64)
    assert normalise(features, (), ()).tolist() == [[1.5, -2.0]]
    assert normalise(features, (), ()).dtype == torch.float32
    assert normalise(torch.tensor([[[[51]]]], dtype=torch.uint8), (), ()).item() == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("mean", "std", "complaint"),
    [
        ((0.5,), (), "equally long, got 1 and 0"),
        ((0.5, 0.5), (0.5, 0.5), r"got 2 for inputs of shape \(1, 3, 2, 2\)"),
        (MEAN, (1.0, 0.0, 1.0), r"std must be positive everywhere, got 0\.0"),
        (MEAN, (1.0, 1.0, float("nan")), "std must be positive"),
    ],
)
def test_impossible_statistics(mean: tuple[float, ...], std: tuple[float, ...], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        normalise(torch.zeros(1, 3, 2, 2, dtype=torch.uint8), mean, std)
