"""Single images: bombs that must not be decoded, and lists of paths from Python."""

from __future__ import annotations

import os
import struct
import tracemalloc
import zlib
from pathlib import Path

import pytest
import torch
from PIL import Image

from likewise.datasets import load_images
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
