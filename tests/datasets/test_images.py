"""Single images: bombs that must not be decoded, and lists of paths from Python."""

from __future__ import annotations

import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from likewise.datasets import keep_on_disk, load_folder, load_images, open_items
from likewise.datasets.images import UnreadableImage, read_image
from likewise.errors import InputError


def png(width: int, height: int) -> bytes:
    """A grey PNG that claims its size in a sound header and has next to no pixels."""

    def block(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = block(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + block(b"IDAT", zlib.compress(bytes(1000))) + block(b"IEND", b"")


@pytest.mark.parametrize("side", [100_000, 10_000], ids=["error", "warning"])
@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")  # what the user set must not let one in
def test_bomb_is_refused_before_it_is_decoded(tmp_path: Path, side: int) -> None:
    (tmp_path / "bomb.png").write_bytes(png(side, side))
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableImage, match=r"exceeds limit of \d+ pixels"):
            read_image(tmp_path / "bomb.png", 8, 3)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_size_up_to_the_limit_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.new("L", (10, 10)).save(tmp_path / "small.png")
    Image.new("L", (10, 11)).save(tmp_path / "large.png")
    assert read_image(tmp_path / "small.png", 4, 1).shape == (1, 4, 4)
    with pytest.raises(UnreadableImage, match="110 pixels"):
        read_image(tmp_path / "large.png", 4, 1)


def test_list_of_paths_keeps_its_order_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cat").mkdir()
    Image.new("L", (9, 9), 7).save("b.png")
    Image.new("L", (9, 9), 3).save(tmp_path / "cat" / "a.png")
    paths: list[Path | str] = ["b.png", tmp_path / "cat" / "a.png", "./b.png", "b.png"]
    items = load_images(paths, size=5, channels=1)
    assert items.ids == ("b.png", str(tmp_path / "cat" / "a.png"), "./b.png", "b.png")
    assert items.inputs[:, 0, 0, 0].tolist() == [7, 3, 7, 7]
    assert items.inputs.shape == (4, 1, 5, 5)
    assert items.labels.tolist() == [-1] * 4
    assert items.class_names == ()


def test_broken_images_of_a_list(tmp_path: Path) -> None:
    Image.new("RGB", (9, 9), "red").save(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("text")
    paths = [tmp_path / name for name in ("missing.png", "a.png", "b.png")]
    with pytest.raises(
        InputError, match=r"^2 of the 3 images given cannot be read, the first is .*missing\.png .*No such"
    ):
        load_images(paths)
    with pytest.warns(UserWarning, match=r"^2 of the 3 images given .*; they are left out\.") as caught:
        items = load_images(paths, strict=False)
    assert [Path(warning.filename) for warning in caught] == [Path(__file__)]
    assert items.ids == (os.fspath(tmp_path / "a.png"),)
    assert torch.equal(items.inputs[0, :, 0, 0], torch.tensor([255, 0, 0], dtype=torch.uint8))
    with pytest.raises(InputError, match=r"^1 of the 1 images given .*; give sound images\.$"):
        load_images(paths[2:], strict=False)


def test_what_is_no_list_of_paths(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"takes a list of paths, got 'a\.png'"):
        load_images("a.png")
    with pytest.raises(InputError, match="list of images is empty"):
        load_images([])


RAMP = np.arange(256, dtype=np.uint8).reshape(16, 16)


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (RAMP, "a.png"),
        (RAMP.astype(np.uint16) * 257, "a.png"),
        (RAMP.astype(np.uint16) * 257, "a.tif"),
        ((RAMP.astype(np.uint16) * 257).astype(">u2"), "a.tiff"),
        (RAMP.astype(np.int32) * 257, "a.tif"),
        (RAMP.astype(np.int32) * 257, "a.pgm"),
        (RAMP.astype(np.float32) / 255, "a.tif"),
    ],
    ids=["8 bits", "16 bits", "16 bits in TIFF", "big-endian", "32 bits", "16 bits in PGM", "floats"],
)
def test_deep_pictures_have_the_tones_of_shallow_ones(tmp_path: Path, values: np.ndarray, name: str) -> None:
    Image.fromarray(values).save(tmp_path / name)
    for channels in (1, 3):
        for part in read_image(tmp_path / name, 16, channels):
            np.testing.assert_array_equal(part, RAMP)
    items = load_images([tmp_path / name], size=16, channels=1)
    folder = load_folder(tmp_path, size=16, channels=1)
    kept = keep_on_disk(open_items(tmp_path, size=16, channels=1), tmp_path / "kept", "")
    for found in (items.inputs[0, 0], folder.inputs[0, 0], kept.inputs[:1][0, 0]):
        np.testing.assert_array_equal(found.numpy(), RAMP)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([[0, 255]], dtype=np.float32), r"its floats are from 0 to 255; save it with values from 0 to 1, or"),
        (np.array([[-0.5, 1]], dtype=np.float32), r"its floats are from -0\.5 to 1;"),
        (np.array([[0, np.nan]], dtype=np.float32), r"its floats are from nan to nan;"),
        (np.array([[0, 70_000]], dtype=np.int32), r"its whole numbers are from 0 to 70000; save it .* 65535"),
        (np.array([[-1, 7]], dtype=np.int32), r"its whole numbers are from -1 to 7;"),
    ],
)
def test_values_that_could_mean_anything_are_refused(tmp_path: Path, values: np.ndarray, message: str) -> None:
    Image.fromarray(values).save(tmp_path / "a.tif")
    with pytest.raises(UnreadableImage, match=message):
        read_image(tmp_path / "a.tif", 4, 1)


def test_a_deep_picture_is_turned_upright_and_its_transparent_tone_is_white(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 3  # "the camera was upside down"
    deep = Image.fromarray(RAMP.astype(np.uint16) * 257)
    deep.save(tmp_path / "a.png", exif=exif, transparency=5 * 257)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", 16, 1)[0], np.where(RAMP == 5, 255, RAMP)[::-1, ::-1])


@pytest.mark.parametrize("mode", ["1", "L", "P", "LA", "PA", "RGB", "RGBA", "CMYK", "YCbCr"])
def test_every_kind_of_picture_keeps_its_tones(tmp_path: Path, mode: str) -> None:
    black_and_white = Image.fromarray(np.where(RAMP > 127, 255, 0).astype(np.uint8))
    black_and_white.convert("RGB").convert(mode).save(tmp_path / "a.tif")
    for channels in (1, 3):
        found = read_image(tmp_path / "a.tif", 16, channels).astype(int)
        assert np.abs(found - np.asarray(black_and_white)).max() <= 1


def test_formats_that_would_start_another_program_are_refused(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.eps")
    (tmp_path / "a.eps").rename(tmp_path / "a.png")
    with pytest.raises(UnreadableImage, match="cannot identify"):
        read_image(tmp_path / "a.png", 8, 3)


@pytest.mark.parametrize("size", [0, 4097, 10**9])
def test_pictures_cannot_be_brought_to_any_size(size: int, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(InputError, match=f"must be from 1 to 4096 pixels, got {size}"):
        load_images([tmp_path / "a.png"], size=size)
