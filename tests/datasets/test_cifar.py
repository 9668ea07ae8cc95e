"""CIFAR files in the official layout that the test writes, as a folder and as a tar.gz."""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import load
from likewise.datasets.augment import channel_statistics
from likewise.datasets.cifar import CIFAR10, CIFAR100, Layout
from likewise.errors import InputError

ROWS = 2  # in each file


def contents(layout: Layout) -> dict[str, bytes]:
    """Random pixels; labels count up from 0 over the files, coarse labels are 7."""
    rng = np.random.default_rng(0)
    files = {}
    for number, file in enumerate((*layout.train, *layout.test)):
        rows = rng.integers(0, 256, (ROWS, layout.label_bytes + 3072), dtype=np.uint8)
        rows[:, 0] = 7
        rows[:, layout.label_bytes - 1] = [(ROWS * number + row) % layout.n_classes for row in range(ROWS)]
        files[file] = rows.tobytes()
    files[layout.class_names] = "".join(f"class{number}\n" for number in range(layout.n_classes)).encode() + b"\n"
    return files


def write_folder(layout: Layout, folder: Path, files: dict[str, bytes]) -> Path:
    folder.mkdir(parents=True)
    for file, content in files.items():
        (folder / file).write_bytes(content)
    return folder


def write_archive(layout: Layout, path: Path, files: dict[str, bytes]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as tar:
        for file, content in reversed(files.items()):  # no order is promised
            member = tarfile.TarInfo(f"{layout.folder}/{file}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


@pytest.mark.parametrize("layout", [CIFAR10, CIFAR100], ids=lambda layout: layout.name)
@pytest.mark.parametrize("form", ["folder", "archive", "archive in the data folder"])
def test_pixels_labels_and_parts(tmp_path: Path, layout: Layout, form: str) -> None:
    files = contents(layout)
    if form == "folder":
        write_folder(layout, tmp_path / layout.name / layout.folder, files)
    else:
        write_archive(layout, tmp_path / (layout.name if form == "archive" else "") / layout.archive, files)
    before = sorted(tmp_path.rglob("*"))

    cifar = load(layout.name, tmp_path)
    n_train = ROWS * len(layout.train)
    assert cifar.train.inputs.shape == (n_train, 3, 32, 32)
    assert cifar.train.labels.tolist() == list(range(n_train))
    assert cifar.test.labels.tolist() == [n_train % layout.n_classes, (n_train + 1) % layout.n_classes]
    assert cifar.train.class_names == tuple(f"class{number}" for number in range(layout.n_classes))
    last = np.frombuffer(files[layout.train[-1]], np.uint8)[-3072:]
    red, green, blue = last[:1024], last[1024:2048], last[2048:]
    assert torch.equal(cifar.train.inputs[-1, 0].flatten(), torch.tensor(red))
    assert torch.equal(cifar.train.inputs[-1, 1].flatten(), torch.tensor(green))
    assert torch.equal(cifar.train.inputs[-1, 2, 31], torch.tensor(blue[-32:]))
    assert sorted(tmp_path.rglob("*")) == before  # nothing was unpacked


def test_classes_without_a_list_of_names_are_numbers(tmp_path: Path) -> None:
    files = contents(CIFAR10)
    del files["batches.meta.txt"]
    write_folder(CIFAR10, tmp_path / "cifar10" / CIFAR10.folder, files)
    assert load("cifar10", tmp_path).train.class_names == tuple("0123456789")


def test_missing_set_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    expected = (
        f"cifar100/cifar-100-binary.tar.gz is not in {tmp_path}; run `likewise data get cifar100 --data {tmp_path}`"
    )
    with pytest.raises(InputError, match=re.escape(expected)):
        load("cifar100", tmp_path)


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda content: content[:-1], "test_batch.bin holds 6145 bytes, not a multiple of 3073"),
        (lambda content: b"", "test_batch.bin holds 0 bytes"),
        (lambda content: b"\x0a" + content[1:], "test_batch.bin holds label 10, past 9"),
        (None, "test_batch.bin is not in"),
    ],
)
def test_damaged_bin_is_named_with_a_remedy(
    tmp_path: Path, spoil: Callable[[bytes], bytes] | None, complaint: str
) -> None:
    files = contents(CIFAR10)
    content = files.pop("test_batch.bin")
    if spoil:
        files["test_batch.bin"] = spoil(content)
    folder = write_folder(CIFAR10, tmp_path / "cifar10" / CIFAR10.folder, files)
    remedy = re.escape(f"; delete {folder} and run `likewise data get cifar10 --data {tmp_path}`.")
    with pytest.raises(InputError, match=f"{complaint}.*{remedy}$"):
        load("cifar10", tmp_path)


def flip_last_checksum_byte(content: bytes) -> bytes:
    return content[:-8] + bytes([content[-8] ^ 1]) + content[-7:]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda content: content[: len(content) // 2], "cannot be read"),
        (lambda content: content[:1000] + b"\0" * 1000 + content[2000:], "cannot be read"),
        (lambda content: b"<html>not found</html>", "cannot be read"),
        (lambda content: gzip.compress(b"not a tar" * 100), "cannot be read"),
        (flip_last_checksum_byte, "cannot be read .*CRC"),
        (lambda content: b"", "cannot be read"),
    ],
)
def test_damaged_archive_is_named_with_a_remedy(
    tmp_path: Path, spoil: Callable[[bytes], bytes], complaint: str
) -> None:
    archive = write_archive(CIFAR10, tmp_path / CIFAR10.archive, contents(CIFAR10))
    archive.write_bytes(spoil(archive.read_bytes()))
    remedy = re.escape(f"; delete {archive} and run `likewise data get cifar10 --data {tmp_path}`.")
    with pytest.raises(InputError, match=f"^{re.escape(str(archive))} {complaint}.*{remedy}$"):
        load("cifar10", tmp_path)


def test_archive_without_a_batch(tmp_path: Path) -> None:
    files = contents(CIFAR10)
    del files["data_batch_3.bin"]
    write_archive(CIFAR10, tmp_path / CIFAR10.archive, files)
    with pytest.raises(InputError, match=r"holds no data_batch_3\.bin; delete"):
        load("cifar10", tmp_path)


@pytest.mark.parametrize("layout", [CIFAR10, CIFAR100], ids=lambda layout: layout.name)
def test_real_cifar(real_data: Callable[[str], Path], layout: Layout) -> None:
    cifar = load(layout.name, real_data(layout.name))
    assert cifar.train.labels.bincount().tolist() == [50_000 // layout.n_classes] * layout.n_classes
    assert cifar.test.labels.bincount().tolist() == [10_000 // layout.n_classes] * layout.n_classes
    assert not cifar.train.class_names[0].isdigit()
    mean, std = channel_statistics(cifar.train.inputs)
    assert mean == pytest.approx(layout.mean, abs=1e-4)
    assert std == pytest.approx(layout.std, abs=1e-4)
