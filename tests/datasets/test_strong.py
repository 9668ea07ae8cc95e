"""The strong augmentation: what each part does, that it stays in range, and that the same seed does the same."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from likewise.datasets import Strong
from likewise.errors import InputError

IMAGES = torch.randint(40, 216, (200, 3, 12, 10), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_same_seed_does_the_same() -> None:
    strong = Strong()
    assert torch.equal(strong(IMAGES, seeded()), strong(IMAGES, seeded()))
    assert not torch.equal(strong(IMAGES, seeded()), strong(IMAGES, seeded(1)))
    assert strong(IMAGES, seeded()).dtype == torch.uint8


def test_nothing_is_done_where_nothing_is_asked() -> None:
    assert torch.equal(Strong(contrast=0, brightness=0, cutout=0)(IMAGES, seeded()), IMAGES)


def test_brightness_moves_an_image_as_a_whole() -> None:
    changed = Strong(contrast=0, brightness=0.15, cutout=0)(IMAGES, seeded())  # no value can leave the range
    moved = (changed.int() - IMAGES.int()).flatten(1)
    assert (moved.max(1).values - moved.min(1).values).max() <= 1  # but for rounding
    assert moved.abs().max() <= 0.15 * 255 + 1
    assert moved.float().mean(1).std() > 10


def test_contrast_stretches_an_image_about_its_mean() -> None:
    images = IMAGES.float() / 255
    changed = Strong(contrast=0.5, brightness=0, cutout=0)(images * 0.4 + 0.3, seeded())
    before, after = (values.flatten(1) for values in (images * 0.4 + 0.3, changed))
    torch.testing.assert_close(before.mean(1), after.mean(1))
    ratio = after.std(1) / before.std(1)
    assert 0.5 <= ratio.min() < 0.6
    assert 1.4 < ratio.max() <= 1.5


def test_a_square_of_each_image_is_black() -> None:
    changed = Strong(contrast=0, brightness=0, cutout=0.5)(IMAGES, seeded())
    gone = (changed == 0).all(1)  # (n, H, W): in all channels at once, and nowhere else is a value changed
    assert torch.equal(torch.where(gone[:, None], 0, IMAGES), changed)
    for cut in gone:
        rows, columns = cut.any(1).nonzero().flatten(), cut.any(0).nonzero().flatten()
        assert int(cut.sum()) == len(rows) * len(columns)  # a full rectangle
        assert len(rows) <= 5
        assert len(columns) <= 5
    assert len({int(cut.sum()) for cut in gone}) > 5
    assert gone.float().mean(0).min() > 0  # anywhere


def test_the_gentle_one_comes_first() -> None:
    def blacken(images: Tensor, generator: torch.Generator) -> Tensor:
        return torch.zeros_like(images)

    assert not Strong(blacken, brightness=0)(IMAGES, seeded()).any()


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match="contrast must be between 0 and 1, got 2"):
        Strong(contrast=2)
    with pytest.raises(InputError, match=r"takes images \(b, C, H, W\), got shape \(3, 4\)"):
        Strong()(torch.zeros(3, 4), seeded())
