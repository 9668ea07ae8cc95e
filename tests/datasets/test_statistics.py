"""Statistics of channels and columns against the plain computation in float64."""

from __future__ import annotations

import pytest
import torch

from likewise.datasets.statistics import channel_statistics, column_statistics


def test_channels_are_kept_apart_and_more_than_one_piece_is_counted() -> None:
    images = torch.randint(256, (1500, 3, 2, 3), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    images[:, 1] //= 4
    mean, std = channel_statistics(images)
    pixels = images.double() / 255
    assert mean == pytest.approx(pixels.mean((0, 2, 3)).tolist(), rel=1e-12)
    assert std == pytest.approx(pixels.std((0, 2, 3), correction=0).tolist(), rel=1e-12)


def test_constant_channel_can_still_be_divided_by() -> None:
    assert channel_statistics(torch.zeros(2, 1, 2, 2, dtype=torch.uint8)) == ((0.0,), (1.0,))


def test_columns_of_more_than_one_piece() -> None:
    features = 1000 + torch.randn(2500, 3, generator=torch.Generator().manual_seed(0))
    features[:, 2] = 0.1
    mean, std = column_statistics(features)
    assert mean == pytest.approx(features.double().mean(0).tolist(), rel=1e-12)
    assert std[:2] == pytest.approx(features.double().std(0, correction=0).tolist()[:2], rel=1e-9)
    assert std[2] == 1
