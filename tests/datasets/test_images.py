"""Single images: bombs that must not be decoded, and lists of paths from Python."""

from __future__ import annotations

import os
import shutil
import struct
import tracemalloc
import warnings
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
    with pytest.raises(UnreadableImage, match="no image of a known format"):
        read_image(tmp_path / "a.png", 8, 3)


@pytest.mark.parametrize("size", [0, 4097, 10**9])
def test_pictures_cannot_be_brought_to_any_size(size: int, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with pytest.raises(InputError, match=f"must be from 1 to 4096 pixels, got {size}"):
        load_images([tmp_path / "a.png"], size=size)


def save(path: Path, colour: str | int = "red", mode: str = "RGB", size: tuple[int, int] = (6, 4)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, colour).save(path)


def test_sub_folders_are_classes_however_deep(tmp_path: Path) -> None:
    save(tmp_path / "dog" / "2.png", "lime")
    save(tmp_path / "cat" / "b" / "deep.JPG", "red")
    save(tmp_path / "cat" / "a.bmp", "blue")
    save(tmp_path / "loose.png", "white")
    (tmp_path / "notes.txt").write_text("not an image")
    save(tmp_path / ".thumbnails" / "hidden.png")
    save(tmp_path / "cat" / "._a.png")
    (tmp_path / "empty").mkdir()

    items = load_folder(tmp_path, size=5)
    assert items.ids == ("cat/a.bmp", "cat/b/deep.JPG", "dog/2.png", "loose.png")
    assert items.class_names == ("cat", "dog")
    assert items.labels.tolist() == [0, 0, 1, -1]
    assert items.inputs.shape == (4, 3, 5, 5)
    assert items.inputs.dtype == torch.uint8
    corner = items.inputs[:, :, 0, 0].tolist()
    assert corner[0] == [0, 0, 255]
    assert corner[1] == pytest.approx([255, 0, 0], abs=3)  # JPEG is not exact
    assert corner[2:] == [[0, 255, 0], [255, 255, 255]]


def test_classes_that_come_in_groups(tmp_path: Path) -> None:
    for name in ("Greek/alpha/1.png", "Greek/alpha/deeper/2.png", "Latin/alpha/1.png"):
        save(tmp_path / name)
    items = load_folder(tmp_path, grouped=True)
    assert items.class_names == ("Greek/alpha", "Latin/alpha")
    assert items.labels.tolist() == [0, 0, 1]
    assert items.groups() == ["Greek", "Greek", "Latin"]
    save(tmp_path / "Greek" / "of no class.png")
    with pytest.raises(InputError, match="The class 'Greek' names no group"):
        load_folder(tmp_path, grouped=True).groups()


def test_flat_folder_has_no_labels(tmp_path: Path) -> None:
    for name in ("b.png", "a.png"):
        save(tmp_path / name)
    items = load_folder(tmp_path)
    assert items.ids == ("a.png", "b.png")
    assert items.labels.tolist() == [-1, -1]
    assert items.n_classes == 0


def test_grey_is_the_luminance(tmp_path: Path) -> None:
    save(tmp_path / "red.png", "red")
    save(tmp_path / "white.png", 1, mode="1")
    items = load_folder(tmp_path, size=3, channels=1)
    assert items.inputs.shape == (2, 1, 3, 3)
    assert items.inputs[0].unique().tolist() == [76]  # 0.299 x 255
    assert items.inputs[1].unique().tolist() == [255]


def test_transparent_parts_are_white(tmp_path: Path) -> None:
    image = Image.new("RGBA", (4, 4), (0, 0, 0, 0))
    image.paste((255, 0, 0, 255), (0, 0, 4, 2))
    image.save(tmp_path / "icon.png")
    image.convert("P").save(tmp_path / "palette.png", transparency=image.convert("P").getpixel((0, 3)))
    icon, palette = load_folder(tmp_path, size=4).inputs
    assert icon[:, 0, 0].tolist() == [255, 0, 0]
    assert icon[:, 3, 3].tolist() == [255, 255, 255]
    assert palette[:, 3, 3].tolist() == [255, 255, 255]


def test_photographs_are_turned_upright(tmp_path: Path) -> None:
    image = Image.new("L", (8, 8))
    image.paste(255, (0, 0, 8, 4))  # the upper half is light
    exif = Image.Exif()
    exif[0x0112] = 3  # "the camera was upside down"
    image.save(tmp_path / "photo.png", exif=exif)
    pixels = load_folder(tmp_path, size=8, channels=1).inputs[0, 0]
    assert torch.all(pixels[:3] == 0)
    assert torch.all(pixels[5:] == 255)


def test_large_photograph_is_averaged_not_sampled(tmp_path: Path) -> None:
    stripes = np.zeros((320, 320), dtype=np.uint8)
    stripes[:, ::2] = 200
    Image.fromarray(stripes).save(tmp_path / "stripes.jpg", quality=95)
    pixels = load_folder(tmp_path, size=8, channels=1).inputs
    assert pixels.float().sub(100).abs().max() < 8


def test_link_to_a_class_is_followed_and_a_circle_is_not(tmp_path: Path) -> None:
    save(tmp_path / "elsewhere" / "1.png")
    folder = tmp_path / "photos"
    folder.mkdir()
    (folder / "cat").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "back").symlink_to(folder)
    assert load_folder(folder).ids == ("cat/1.png",)


def break_some(folder: Path) -> None:
    for name in ("cat/1.png", "cat/2.png", "dog/1.png"):
        save(folder / name, size=(30, 30))
    (folder / "cat" / "1.png").write_bytes((folder / "cat" / "1.png").read_bytes()[:50])
    (folder / "dog" / "0.jpg").write_text("<html>not found</html>")
    (folder / "dog" / "2.gif").write_bytes(b"")


def test_broken_images_are_left_out_with_one_warning(tmp_path: Path) -> None:
    break_some(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        items = load_folder(tmp_path)
    assert items.ids == ("cat/2.png", "dog/1.png")
    assert items.labels.tolist() == [0, 1]
    assert items.inputs[:, 0].unique().tolist() == [255]
    assert [str(warning.message).split(" (")[0] for warning in caught] == [
        f"3 of the 5 images in {tmp_path} cannot be read, the first is {tmp_path / 'cat' / '1.png'}"
    ]
    assert Path(caught[0].filename) == Path(__file__)


def test_broken_images_are_refused_when_strict(tmp_path: Path) -> None:
    break_some(tmp_path)
    with pytest.raises(InputError, match=r"^3 of the 5 images in .* the first is .*1\.png .*; replace or delete them"):
        load_folder(tmp_path, strict=True)


def test_class_of_broken_images_alone_is_no_class(tmp_path: Path) -> None:
    for name in ("cat/1.png", "dog/1.png", "loose.png"):
        save(tmp_path / name)
    (tmp_path / "cat" / "1.png").write_bytes(b"")
    with pytest.warns(UserWarning, match="1 of the 3 images"):
        items = load_folder(tmp_path)
    assert items.class_names == ("dog",)
    assert items.labels.tolist() == [0, -1]


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"missing is not a folder; give"):
        load_folder(tmp_path / "missing")
    with pytest.raises(InputError, match=r"holds no image; its files should end in one of .*\.png"):
        load_folder(tmp_path)
    (tmp_path / "a.png").write_text("text")
    with pytest.raises(InputError, match=r"^1 of the 1 images .*; give a folder of sound images"):
        load_folder(tmp_path)


def test_a_name_that_is_no_text_is_refused(tmp_path: Path) -> None:
    Image.new("L", (4, 4)).save(tmp_path / "a.png")
    try:
        shutil.copy(tmp_path / "a.png", tmp_path / os.fsdecode(b"b\xff.png"))
    except OSError:
        pytest.skip("this file system takes text alone")
    with pytest.raises(InputError, match=r"b\\udcff\.png: this name is not UTF-8 text"):
        load_folder(tmp_path)
