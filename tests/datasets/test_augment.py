"""Augmentation against explicit loops over images and pixels, and its promises about the generator."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from likewise.datasets import Augmentation, Strong
from likewise.datasets.augment import channel_statistics, column_statistics
from likewise.errors import InputError

EVERYTHING = Augmentation(crop_padding=2, flip=True, degrees=20, translate=0.1, scale=(0.8, 1.2), shear=10)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bytes_like(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(1, 256, shape, generator=generator(seed), dtype=torch.uint8)


def crop_of(image: torch.Tensor, out: torch.Tensor, padding: int) -> list[tuple[int, int, bool]]:
    """Every (top, left, flipped) that makes `out` from `image`, by trying them all."""
    height, width = image.shape[1:]
    found = []
    for flipped in (False, True):
        padded = torch.zeros(len(image), height + 2 * padding, width + 2 * padding, dtype=image.dtype)
        padded[:, padding : padding + height, padding : padding + width] = image.flip(2) if flipped else image
        for top in range(2 * padding + 1):
            for left in range(2 * padding + 1):
                if torch.equal(padded[:, top : top + height, left : left + width], out):
                    found.append((top, left, flipped))
    return found


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_each_image_is_one_of_its_own_crops_and_all_of_them_occur(
    dtype: torch.dtype, layout: torch.memory_format
) -> None:
    images = bytes_like(300, 3, 5, 6).to(dtype).contiguous(memory_format=layout)
    out = Augmentation(crop_padding=1, flip=True)(images, generator())
    assert out.dtype == dtype
    found = [crop_of(image, made, 1) for image, made in zip(images, out, strict=True)]
    assert all(len(ways) == 1 for ways in found)
    assert {ways[0] for ways in found} == set(product(range(3), range(3), (False, True)))


def test_flip_alone_turns_about_half_and_leaves_the_others() -> None:
    images = bytes_like(1000, 2, 3, 4)
    out = Augmentation(flip=True)(images, generator())
    same = (out == images).flatten(1).all(1)
    mirrored = (out == images.flip(3)).flatten(1).all(1)
    assert torch.all(same ^ mirrored)
    assert 400 < int(same.sum()) < 600


def test_crop_alone_never_flips() -> None:
    images = bytes_like(50, 1, 4, 4)
    out = Augmentation(crop_padding=2)(images, generator())
    ways = [crop_of(image, made, 2) for image, made in zip(images, out, strict=True)]
    assert all(any(not flipped for _, _, flipped in each) for each in ways)


def affine_by_loops(image: np.ndarray, draws: np.ndarray, augment: Augmentation) -> np.ndarray:
    """Invert the pixel-space map numerically and read each output pixel from the input, bilinearly."""
    height, width = image.shape[1:]
    angle = math.radians(augment.degrees) * (2 * draws[0] - 1)
    phi = math.radians(augment.shear) * (2 * draws[1] - 1)
    size = augment.scale[0] + draws[2] * (augment.scale[1] - augment.scale[0])
    shift = np.array([width * augment.translate * (2 * draws[3] - 1), height * augment.translate * (2 * draws[4] - 1)])
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    back = np.linalg.inv(turn @ np.array([[1, math.tan(phi)], [0, 1]]) * size)
    centre = np.array([(width - 1) / 2, (height - 1) / 2])
    out = np.zeros_like(image)
    for y in range(height):
        for x in range(width):
            from_x, from_y = back @ (np.array([x, y]) - centre - shift) + centre
            for near_y in (math.floor(from_y), math.floor(from_y) + 1):
                for near_x in (math.floor(from_x), math.floor(from_x) + 1):
                    if 0 <= near_x < width and 0 <= near_y < height:
                        share = (1 - abs(from_x - near_x)) * (1 - abs(from_y - near_y))
                        out[:, y, x] += share * image[:, near_y, near_x]
    return out


@pytest.mark.parametrize(
    "augment",
    [
        Augmentation(degrees=180),
        Augmentation(translate=0.4),
        Augmentation(scale=(0.5, 2.0)),
        Augmentation(shear=40),
        Augmentation(degrees=30, translate=0.2, scale=(0.7, 1.3), shear=20),
    ],
    ids=["degrees", "translate", "scale", "shear", "all"],
)
@pytest.mark.parametrize("shape", [(6, 2, 9, 9), (6, 1, 6, 11)], ids=["square", "wide"])
def test_affine_equals_the_loop(augment: Augmentation, shape: tuple[int, ...]) -> None:
    images = torch.rand(shape, generator=generator(1), dtype=torch.float64)
    out = augment(images, generator(2))
    draws = torch.rand(5, shape[0], generator=generator(2)).double().numpy()
    for index in range(shape[0]):
        expected = affine_by_loops(images[index].numpy(), draws[:, index], augment)
        np.testing.assert_allclose(out[index].numpy(), expected, atol=1e-4)


def test_a_window_is_inside_the_image_and_of_the_size_that_was_asked_for() -> None:
    """Of an image whose two channels are the place of each pixel, a window shows where it was cut."""
    height, width, n = 40, 60, 300
    x, y = (torch.arange(width) + 0.5) / width, (torch.arange(height) + 0.5) / height
    places = torch.stack([x.expand(height, width), y[:, None].expand(height, width)]).double()
    out = Augmentation(area=(0.3, 0.8))(places.expand(n, 2, height, width), generator(4))
    left, right = out[:, 0, :, 15].mean(1), out[:, 0, :, 44].mean(1)  # far from the edge, where pixels are repeated
    top, bottom = out[:, 1, 10].mean(1), out[:, 1, 29].mean(1)
    wide, high = (right - left) * width / 29, (bottom - top) * height / 19
    x_from, y_from = left - wide * 15.5 / width, top - high * 10.5 / height
    area, proportion = wide * high, wide / high
    tolerance = 1e-6
    assert float(area.min()) == pytest.approx(0.3, abs=0.02)
    assert float(area.max()) == pytest.approx(0.8, abs=0.02)
    assert area.min() > 0.3 - tolerance
    assert area.max() < 0.8 + tolerance
    assert proportion.min() > 3 / 4 - tolerance
    assert proportion.max() < 4 / 3 + tolerance
    assert proportion.max() - proportion.min() > 0.4
    for start, size in ((x_from, wide), (y_from, high)):
        assert start.min() > -tolerance
        assert (start + size).max() < 1 + tolerance
        assert start.std() > 0.03


def test_bytes_are_rounded_not_cut() -> None:
    images = bytes_like(20, 1, 8, 8)
    augment = Augmentation(degrees=15, scale=(0.9, 1.1))
    exact = augment(images.double(), generator())
    rounded = augment(images, generator())
    assert rounded.dtype == torch.uint8
    assert (rounded.double() - exact).abs().max() < 0.501


@pytest.mark.parametrize("augment", [EVERYTHING, Augmentation(flip=True), Augmentation(degrees=5)])
def test_generator_state_decides(augment: Augmentation) -> None:
    images = bytes_like(16, 1, 8, 8)
    kept = images.clone()
    source = generator(3)
    first, second = augment(images, source), augment(images, source)
    assert not torch.equal(first, second)
    assert torch.equal(first, augment(images, generator(3)))
    assert torch.equal(images, kept)  # the data in memory are never written to
    torch.manual_seed(0)
    before = torch.get_rng_state()
    augment(images, source)
    assert torch.equal(torch.get_rng_state(), before)  # the global generator is left alone


def test_images_of_a_batch_differ_from_each_other() -> None:
    out = EVERYTHING(bytes_like(1, 1, 8, 8).expand(40, 1, 8, 8), generator())
    assert len(out.flatten(1).unique(dim=0)) == 40


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(1, 9), st.integers(1, 9)),
    padding=st.integers(0, 5),
    flip=st.booleans(),
    degrees=st.sampled_from([0.0, 30.0]),
    dtype=st.sampled_from([torch.uint8, torch.float32]),
)
def test_shape_and_type_stay(
    shape: tuple[int, ...], padding: int, flip: bool, degrees: float, dtype: torch.dtype
) -> None:
    images = torch.full(shape, 255).to(dtype)
    out = Augmentation(crop_padding=padding, flip=flip, degrees=degrees)(images, generator())
    assert out.shape == images.shape
    assert out.dtype == dtype
    assert torch.all((out >= 0) & (out <= 255.01))


def test_default_does_nothing_and_draws_nothing() -> None:
    images, source = bytes_like(2, 1, 3, 3), generator()
    before = source.get_state()
    assert torch.equal(Augmentation()(images, source), images)
    assert torch.equal(source.get_state(), before)


def test_half_as_strong() -> None:
    strong = Augmentation(
        crop_padding=3, flip=True, degrees=10, translate=0.2, scale=(0.5, 1.6), shear=8, area=(0.6, 1)
    )
    assert strong.halved() == Augmentation(
        crop_padding=2, flip=True, degrees=5, translate=0.1, scale=(0.75, 1.3), shear=4, area=(0.8, 1)
    )
    assert Augmentation().halved() == Augmentation()


def test_json_and_back() -> None:
    assert Augmentation(**json.loads(json.dumps(asdict(EVERYTHING)))) == EVERYTHING


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"crop_padding": -1}, "must not be negative, got -1"),
        ({"degrees": -2.0}, r"must not be negative, got 0 and -2\.0"),
        ({"translate": 1.5}, r"fraction between 0 and 1, got 1\.5"),
        ({"shear": 90.0}, r"below 90 degrees, got 90\.0"),
        ({"scale": (1.2, 0.8)}, r"two positive numbers in order, got \(1\.2, 0\.8\)"),
        ({"scale": (0.0, 1.0)}, "two positive numbers"),
        ({"scale": (1.0,)}, "two positive numbers"),
        ({"area": (0.5, 1.2)}, r"above 0 and up to 1 in order, got \(0\.5, 1\.2\)"),
        ({"area": (0.0, 1.0)}, "two shares above 0"),
    ],
)
def test_impossible_settings(values: dict[str, float], complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        Augmentation(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize("inputs", [torch.zeros(3, 8), torch.zeros(2, 1, 4, 4, dtype=torch.int64)])
def test_what_is_no_image_is_refused(inputs: torch.Tensor) -> None:
    with pytest.raises(InputError, match="leave it out for feature vectors"):
        EVERYTHING(inputs, generator())


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
