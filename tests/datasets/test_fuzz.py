"""Data files as nobody would write them, whole sets, images, arrays and tables: read, or refused in one sentence."""

from __future__ import annotations

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from PIL import Image

from likewise.datasets import load_arrays, load_folder, load_omniglot, load_table
from likewise.datasets.cifar import CIFAR10, load_cifar10
from likewise.datasets.idx import read_idx
from likewise.errors import InputError

fuzz = settings(settings.get_profile("fuzz"))

Damaged = Callable[[bytes], SearchStrategy[bytes]]
Refusing = Callable[[], AbstractContextManager[None]]

IDX = bytes([0, 0, 8, 3]) + struct.pack(">3I", 2, 3, 4) + bytes(range(24))
ROW = bytes([3]) + bytes(range(256)) * 12
NAMES = ["images_background/Greek/a/1.png", "images_background/Greek/b/2.png", "images_background/x.png", "readme"]
BAD_NAMES = ["../1.png", "/1.png", "images_background/../../a/1.png", "images_background\\..\\a.png", "C:a/b/c/1.png"]
HUGE = [0, 1, 2**31 - 1, 2**31, 2**32 - 1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def picture(kind: str = "PNG", mode: str = "RGB") -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.arange(7 * 5 * 3, dtype=np.uint8).reshape(7, 5, 3)).convert(mode).save(file, kind)
    return file.getvalue()


@fuzz
@given(data=st.data(), packed=st.sampled_from(["", "before", "after"]), dimensions=st.sampled_from([1, 3]))
def test_idx(
    data: st.DataObject, packed: str, dimensions: int, folder: Path, damaged: Damaged, sound_or_refused: Refusing
) -> None:
    sizes = data.draw(st.none() | st.tuples(*[st.sampled_from([*HUGE, 2, 3, 4])] * 3))
    sound = IDX if sizes is None else IDX[:4] + struct.pack(">3I", *sizes) + IDX[16:]
    if packed == "before":
        content = gzip.compress(data.draw(damaged(sound)), 1)
    else:
        content = data.draw(damaged(gzip.compress(sound, 1) if packed else sound))
    path = folder / ("idx.gz" if packed else "idx")
    path.write_bytes(content)
    with sound_or_refused():
        assert read_idx(path, dimensions).ndim == dimensions


def cifar_archive(files: dict[str, bytes], change: Callable[[tarfile.TarInfo], None]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if name.endswith("test_batch.bin"):
                change(member)
            tar.addfile(member, io.BytesIO(content) if member.isreg() else None)
    return packed.getvalue()


CIFAR = {f"{CIFAR10.folder}/{name}": ROW for name in (*CIFAR10.train, *CIFAR10.test)}
CIFAR_TAR = cifar_archive(CIFAR, lambda member: None)


@fuzz
@given(data=st.data(), form=st.sampled_from(["folder", "tar", "gz"]))
def test_cifar(data: st.DataObject, form: str, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    place = folder / form
    place.mkdir(exist_ok=True)
    if form == "folder":
        (place / CIFAR10.folder).mkdir(exist_ok=True)
        for name in CIFAR:
            (place / name).write_bytes(ROW)
        (place / CIFAR10.folder / "data_batch_2.bin").write_bytes(data.draw(damaged(ROW)))
    elif form == "tar":
        (place / CIFAR10.archive).write_bytes(gzip.compress(data.draw(damaged(CIFAR_TAR)), 1))
    else:
        (place / CIFAR10.archive).write_bytes(data.draw(damaged(gzip.compress(CIFAR_TAR, 1))))
    with sound_or_refused():
        assert len(load_cifar10(place).train) == len(CIFAR10.train)


@pytest.mark.parametrize("what", ["symbolic link", "hard link", "device", "..", "absolute"])
def test_cifar_archives_with_links_and_names_that_lead_out_are_refused(what: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(ROW)

    def change(member: tarfile.TarInfo) -> None:
        kinds = {"symbolic link": tarfile.SYMTYPE, "hard link": tarfile.LNKTYPE, "device": tarfile.CHRTYPE}
        member.type = kinds.get(what, tarfile.REGTYPE)
        member.linkname = str(secret) if "link" in what else ""
        member.name = {"..": "../test_batch.bin", "absolute": "/test_batch.bin"}.get(what, member.name)
        member.size = member.size if what in ("..", "absolute") else 0

    (tmp_path / CIFAR10.archive).write_bytes(gzip.compress(cifar_archive(CIFAR, change)))
    with pytest.raises(InputError, match=r"holds '.*test_batch\.bin', which is not a plain file below it; delete"):
        load_cifar10(tmp_path)


@fuzz
@given(data=st.data())
def test_omniglot(data: st.DataObject, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    packed, whole = io.BytesIO(), data.draw(st.booleans())
    method = data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    with zipfile.ZipFile(packed, "w", method) as archive:
        for name in data.draw(st.lists(st.sampled_from(NAMES if whole else NAMES + BAD_NAMES), unique=True)):
            archive.writestr(name, data.draw(damaged(picture())) if not whole else picture())
    place = folder / "omniglot"
    place.mkdir(exist_ok=True)
    content = packed.getvalue()
    (place / "images_background.zip").write_bytes(data.draw(damaged(content)) if whole else content)
    with sound_or_refused():
        alphabets = load_omniglot("background", place, size=8)
        assert all(items.inputs.shape[1:] == (1, 8, 8) for items in alphabets.values())
        assert not any(".." in name or name.startswith("/") for items in alphabets.values() for name in items.ids)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_omniglot_zips_with_names_that_lead_out_are_refused(name: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "images_background.zip", "w") as archive:
        archive.writestr(NAMES[0], picture())
        archive.writestr(name, picture())
    with pytest.raises(InputError, match="which is a link, too large, or not below it; delete"):
        load_omniglot("background", tmp_path)


def test_omniglot_zips_with_links_and_bombs_are_refused(tmp_path: Path) -> None:
    for content, mode in ((b"/etc/passwd", stat.S_IFLNK | 0o777), (bytes(2**23), 0)):
        member = zipfile.ZipInfo(NAMES[0])
        member.external_attr = mode << 16
        with zipfile.ZipFile(tmp_path / "images_background.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, content)
        with pytest.raises(InputError, match=r"holds 'images_background/Greek/a/1\.png', which is a link, too large"):
            load_omniglot("background", tmp_path)


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def png(width: int, height: int, depth: int, colour: int) -> bytes:
    """A file that says what it likes of itself, with sound checksums."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(999))) + chunk(b"IEND", b"")
    )


PICTURES = [picture(kind) for kind in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM")]
PICTURES += [picture("PNG", mode) for mode in ("P", "RGBA", "LA", "1", "I;16")]
BOMBS = st.builds(
    png,
    st.sampled_from([*HUGE, 7, 9_000, 20_000]),
    st.sampled_from([*HUGE, 5, 9_000, 20_000]),
    st.sampled_from([1, 8, 16]),
    st.sampled_from([0, 2, 3, 4, 6, 9]),
)


@fuzz
@given(data=st.data(), strict=st.booleans(), channels=st.sampled_from([1, 3]))
def test_images(
    data: st.DataObject, strict: bool, channels: Any, folder: Path, damaged: Damaged, sound_or_refused: Refusing
) -> None:
    place = folder / "images"
    place.mkdir(exist_ok=True)
    (place / "a.png").write_bytes(data.draw(BOMBS | st.sampled_from(PICTURES).flatmap(damaged)))
    with sound_or_refused():
        assert load_folder(place, size=8, channels=channels, strict=strict).inputs.shape == (1, channels, 8, 8)


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def npy_that_says(header: str, version: int = 1) -> bytes:
    length = struct.pack("<H" if version == 1 else "<I", len(header) + 1)
    return b"\x93NUMPY" + bytes([version, 0]) + length + header.encode("latin-1", "replace") + b"\n" + bytes(64)


HEADERS = st.builds(
    "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}".format,
    st.sampled_from(["'|u1'", "'<f4'", "'|O'", "'<U9'", "'<M8[s]'", "[('a', '<f4')]", "'(2,3)f4'", "'V0'", "1", "'?'"]),
    st.sampled_from(["False", "True", "0"]),
    st.sampled_from(
        ["(4, 4)", "(2,)", "()", "(9999999999, 9999999999)", "(-1, 4)", "(2, -2)", "(" * 500, "(0, 3)", "'a'"]
    ),
) | st.sampled_from(["", "{", "(" * 9000, "'" * 99, "\n  a\n b", "[" * 3000 + "]" * 3000])
NPYS = [npy(np.arange(12.0).reshape(4, 3)), npy(np.zeros((2, 3, 4), np.uint8)), npy(np.array([[{}]], dtype=object))]


@fuzz
@given(data=st.data(), packed=st.sampled_from(["npy", "npz", "npz of damaged", "npz damaged"]))
def test_arrays(data: st.DataObject, packed: str, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    one = st.builds(npy_that_says, HEADERS, st.sampled_from([1, 2, 3])) | st.sampled_from(NPYS).flatmap(damaged)
    content = data.draw(one)
    if packed != "npy":
        file, names = io.BytesIO(), st.sampled_from(["x", "X", "images", "y", "labels", "ids", "other"])
        with zipfile.ZipFile(
            file, "w", data.draw(st.sampled_from([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED]))
        ) as archive:
            for name in data.draw(st.lists(names, unique=True, max_size=4)):
                whole = npy(
                    data.draw(st.sampled_from([np.zeros((4, 3)), np.arange(4), np.array(["a", "\ud800", "", "b"])]))
                )
                archive.writestr(f"{name}.npy", content if packed == "npz of damaged" else whole)
        content = data.draw(damaged(file.getvalue())) if packed == "npz damaged" else file.getvalue()
    path = folder / f"arrays.{packed[:3]}"
    path.write_bytes(content)
    with sound_or_refused():
        items = load_arrays(path)
        assert len(items.labels) == len(items.inputs) > 0


TABLE = b"id,width,height,label\na,1,2.5,x\nb,3,4e3,y\n\nc,5,6,\n"
VALUES = [
    "",
    "a",
    "0",
    "1.5",
    "-1",
    "nan",
    "inf",
    "1e400",
    '"',
    '"a',
    "a,b",
    "\x00",
    " ",
    "é",
    "x" * 200_000,
    "True",
    "\ufeff",
]


@fuzz
@given(data=st.data())
def test_csv_tables(data: st.DataObject, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    if data.draw(st.booleans()):
        content = data.draw(damaged(TABLE))
    else:
        header = data.draw(st.lists(st.sampled_from(["id", "name", "a", "b", "label", "", "1", "2", "a "]), max_size=5))
        rows = data.draw(st.lists(st.lists(st.sampled_from(VALUES), min_size=1, max_size=5), max_size=5))
        end = data.draw(st.sampled_from(["\n", "\r\n", "\r", "\n\n"]))
        text = end.join(",".join(row) for row in [header, *rows]) + end
        content = text.encode(data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])), "replace")
    (folder / "table.csv").write_bytes(content)
    with sound_or_refused():
        items = load_table(folder / "table.csv")
        assert items.inputs.shape == (len(items), len(items.columns))


KINDS: list[SearchStrategy[Any]] = [
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.booleans(),
    st.text(max_size=5),
    st.binary(max_size=5),
    st.none(),
    st.lists(st.integers(0, 3), max_size=2),
    st.fixed_dictionaries({"a": st.integers(0, 3)}),
    st.dates(),
]


@fuzz
@given(data=st.data())
def test_parquet_tables(data: st.DataObject, folder: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    n, columns = data.draw(st.integers(0, 4)), {}
    for name in data.draw(st.lists(st.sampled_from(["id", "a", "b", "label", "", "é"]), unique=True, max_size=4)):
        kind = data.draw(st.sampled_from(KINDS))
        columns[name] = pa.array(data.draw(st.lists(kind, min_size=n, max_size=n)))
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    content = file.getvalue()
    (folder / "table.parquet").write_bytes(data.draw(damaged(content)) if data.draw(st.booleans()) else content)
    with sound_or_refused():
        items = load_table(folder / "table.parquet")
        assert items.inputs.shape == (len(items), len(items.columns))
