"""How photos are resized, cropped and turned."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.encoders.photos import VIEWS, PhotoForm, photo_encoder
from likewise.encoders.pretrained import UnusableItem
from likewise.errors import InputError


def in_bytes(picture: Image.Image, **options: object) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG", **options)
    return file.getvalue()


def test_the_middle_is_cut_out_at_the_right_scale() -> None:
    pixels = np.zeros((100, 300, 3), np.uint8)
    pixels[:, 100:200] = (0, 200, 0)  # the square in the middle
    found = PhotoForm(50, 50).prepare(in_bytes(Image.fromarray(pixels)))
    assert found.shape == (3, 50, 50)
    np.testing.assert_array_equal(found[1, :, 1:-1], 200)  # the borders may mix with what is beside them
    np.testing.assert_array_equal(found[0], 0)


@pytest.mark.parametrize("rounding", ["torchvision", "nearest"])
@pytest.mark.parametrize("size", [(300, 1), (1, 300), (7, 11), (11, 7), (640, 480)])
def test_any_shape_becomes_a_square(rounding: str, size: tuple[int, int]) -> None:
    form = PhotoForm(16, 18.24, rounding=rounding)  # type: ignore[arg-type]
    assert form.prepare(Image.new("RGB", size, (1, 2, 3))).reshape(3, -1).T.max(0).tolist() == [1, 2, 3]


def test_squashed_photos_keep_all_of_themselves() -> None:
    pixels = np.repeat(np.arange(0, 240, 8, dtype=np.uint8)[None, :, None], 10, axis=0).repeat(3, axis=2)
    found = PhotoForm(30, 30, squash=True).prepare(Image.fromarray(pixels))
    np.testing.assert_allclose(found[0, 0], np.arange(0, 240, 8), atol=4)


def test_photos_are_turned_as_their_camera_was_held() -> None:
    picture = Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4) * 15).convert("RGB")
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    form = PhotoForm(4, 4)
    np.testing.assert_array_equal(form.prepare(in_bytes(picture, exif=exif)), form.prepare(picture.rotate(180)))


def test_arrays_are_photos_too() -> None:
    grey = np.arange(64, dtype=np.uint8).reshape(1, 8, 8)
    found = PhotoForm(8, 8).prepare(grey)
    np.testing.assert_array_equal(found, np.repeat(grey, 3, axis=0))
    with pytest.raises(UnusableItem, match="a photo is uint8"):
        PhotoForm(8, 8).prepare(grey.astype(np.float32))  # type: ignore[arg-type]


def test_views_are_flipped_and_cropped_elsewhere() -> None:
    y, x = np.mgrid[0:60, 0:80]
    photo = np.stack([x, y, x + y]).astype(np.uint8)
    form = PhotoForm(40, 60)  # which resizes nothing
    seen = [form.prepare(photo, view) for view in range(len(VIEWS))]
    np.testing.assert_array_equal(seen[0], photo[:, 10:50, 20:60])
    np.testing.assert_array_equal(seen[1], photo[:, 10:50, 20:60][:, :, ::-1])
    np.testing.assert_array_equal(seen[2], photo[:, :40, :40])
    np.testing.assert_array_equal(seen[3], photo[:, 20:, 40:][:, :, ::-1])
    assert len({view.tobytes() for view in seen}) == len(VIEWS)


def test_a_broken_photo_says_why() -> None:
    with pytest.raises(UnusableItem, match="this is no image of a known format"):
        PhotoForm(8, 8).prepare(b"no photo")


def test_normalisation_is_inside_the_network() -> None:
    form = PhotoForm(4, 4, mean=(0.1, 0.2, 0.3), std=(0.5, 0.25, 0.125))
    encoder = photo_encoder("flat", torch.nn.Flatten(), form, version="")
    pixels = np.arange(48, dtype=np.uint8).reshape(3, 4, 4)
    expected = (pixels / 255 - np.reshape(form.mean, (3, 1, 1))) / np.reshape(form.std, (3, 1, 1))
    found = encoder.compute([pixels], torch.device("cpu"), "float32")
    np.testing.assert_allclose(found.numpy()[0], expected.ravel(), atol=1e-5)


def test_networks_that_cannot_take_photos_are_refused() -> None:
    with pytest.raises(InputError, match="own cannot take photos of 4 x 4 pixels"):
        photo_encoder("own", torch.nn.Linear(7, 2), PhotoForm(4, 4), version="")
    with pytest.raises(InputError, match=r"own gives \(1, 3, 4\) for one item"):
        photo_encoder("own", torch.nn.Flatten(2), PhotoForm(2, 2), version="")
    with pytest.raises(InputError, match="at 1 to 2048 pixels a side, not at 0"):
        PhotoForm(0, 4)
