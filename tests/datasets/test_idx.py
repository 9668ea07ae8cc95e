"""idx files that the test writes: what is read, and what is refused."""

from __future__ import annotations

import gzip
import re
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import load, load_idx
from likewise.datasets.augment import channel_statistics
from likewise.datasets.idx import FASHION_MNIST_MEAN, FASHION_MNIST_STD, MNIST_MEAN, MNIST_STD, read_idx
from likewise.errors import InputError

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 4, 3), dtype=np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9, 2], dtype=np.uint8)


def idx(array: np.ndarray, code: int = 0x08) -> bytes:
    return bytes([0, 0, code, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def write_set(folder: Path, suffix: str = ".gz") -> None:
    folder.mkdir(parents=True)
    for part, keep in (("train", slice(0, 5)), ("t10k", slice(5, 7))):
        for name, array in (("images-idx3", IMAGES[keep]), ("labels-idx1", LABELS[keep])):
            content = idx(array)
            path = folder / f"{part}-{name}-ubyte{suffix}"
            path.write_bytes(gzip.compress(content) if suffix else content)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_pixels_labels_and_parts(tmp_path: Path, suffix: str) -> None:
    write_set(tmp_path / "mnist", suffix)
    mnist = load("mnist", tmp_path)
    assert torch.equal(mnist.train.inputs, torch.from_numpy(IMAGES[:5, None]))
    assert torch.equal(mnist.test.inputs, torch.from_numpy(IMAGES[5:, None]))
    assert mnist.train.labels.tolist() == [3, 1, 4, 1, 5]
    assert mnist.test.labels.tolist() == [9, 2]
    assert mnist.train.class_names == tuple("0123456789")
    assert mnist.train.labels.dtype == torch.int64


def test_found_through_the_environment_and_in_the_data_folder_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_set(tmp_path / "flat")
    monkeypatch.setenv("LIKEWISE_DATA", str(tmp_path / "flat"))
    assert len(load("mnist").train) == 5


def test_fashion_mnist_is_looked_for_in_its_own_folder_alone(tmp_path: Path) -> None:
    write_set(tmp_path / "flat")  # MNIST's files, which have the same names
    with pytest.raises(InputError, match=f"^fashion-mnist/train-images-idx3-ubyte.gz is not in {tmp_path}/flat; run"):
        load("fashion-mnist", tmp_path / "flat")
    write_set(tmp_path / "flat" / "fashion-mnist")
    fashion = load("fashion-mnist", tmp_path / "flat")
    assert (fashion.name, len(fashion.train), len(fashion.test)) == ("fashion-mnist", 5, 2)


def test_other_sets_of_the_same_names_have_their_own_statistics(tmp_path: Path) -> None:
    write_set(tmp_path / "kmnist")
    kmnist = load_idx(tmp_path / "kmnist")
    assert kmnist.name == "kmnist"
    assert kmnist.test.n_classes == 10
    assert kmnist.mean == pytest.approx((IMAGES[:5].mean() / 255,))
    assert kmnist.std == pytest.approx((IMAGES[:5].std() / 255,))
    (tmp_path / "kmnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(InputError, match=r"t10k-labels-idx1-ubyte\.gz is not in .*kmnist; put"):
        load_idx(tmp_path / "kmnist")


def test_missing_file_is_named_with_the_command_that_gets_it(tmp_path: Path) -> None:
    expected = (
        f"mnist/train-images-idx3-ubyte.gz is not in {tmp_path}; "
        f"run `likewise data get mnist --data {tmp_path}` or set LIKEWISE_DATA."
    )
    with pytest.raises(InputError, match=f"^{re.escape(expected)}$"):
        load("mnist", tmp_path)


GOOD = idx(IMAGES)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (gzip.compress(GOOD)[:-20], "cannot be read"),
        (gzip.compress(GOOD)[:30] + b"\xff" * 30 + gzip.compress(GOOD)[60:], "cannot be read"),
        (GOOD, "cannot be read .*[Nn]ot a gzip"),
        (b"", "begins with nothing"),
        (gzip.compress(idx(LABELS)), "begins with 00 00 08 01 where 00 00 08 03 was expected"),
        (gzip.compress(idx(IMAGES, code=0x0D)), "begins with 00 00 0d 03"),
        (gzip.compress(GOOD[:10]), "ends within its header"),
        (gzip.compress(GOOD[:-1]), "holds 83 bytes where its header promises 84"),
        (gzip.compress(GOOD + b"x"), "holds 85 bytes where its header promises 84"),
    ],
    ids=["cut", "damaged", "plain", "empty", "labels", "floats", "header", "short", "long"],
)
def test_damaged_file_is_named_with_a_remedy(tmp_path: Path, content: bytes, complaint: str) -> None:
    write_set(tmp_path / "mnist")
    damaged = tmp_path / "mnist" / "train-images-idx3-ubyte.gz"
    damaged.write_bytes(content)
    remedy = re.escape(f"; delete it and run `likewise data get mnist --data {tmp_path}`.")
    with pytest.raises(InputError, match=f"^{re.escape(str(damaged))} {complaint}.*{remedy}$"):
        load("mnist", tmp_path)


def test_header_that_promises_more_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    path.write_bytes(bytes([0, 0, 8, 3]) + struct.pack(">3I", 2**32 - 1, 2**32 - 1, 2**32 - 1) + b"abc")
    with pytest.raises(InputError, match="holds 3 bytes where its header promises 79228162458924105385300197375"):
        read_idx(path, 3)


def test_counts_that_disagree_and_labels_past_the_last_class(tmp_path: Path) -> None:
    write_set(tmp_path / "mnist")
    labels = tmp_path / "mnist" / "train-labels-idx1-ubyte.gz"
    labels.write_bytes(gzip.compress(idx(LABELS[:4])))
    with pytest.raises(InputError, match=r"holds 5 images and .* holds 4 labels"):
        load("mnist", tmp_path)
    labels.write_bytes(gzip.compress(idx(LABELS[:5] + np.uint8(6))))
    with pytest.raises(InputError, match="holds label 11, past 9"):
        load("mnist", tmp_path)


def test_real_mnist(real_data: Callable[[str], Path]) -> None:
    mnist = load("mnist", real_data("mnist"))
    assert mnist.train.labels.bincount().tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert mnist.test.inputs.shape == (10_000, 1, 28, 28)
    mean, std = channel_statistics(mnist.train.inputs)
    assert mean == pytest.approx(MNIST_MEAN, abs=1e-4)
    assert std == pytest.approx(MNIST_STD, abs=1e-4)


def test_real_fashion_mnist(real_data: Callable[[str], Path]) -> None:
    fashion = load("fashion-mnist", real_data("fashion-mnist"))
    assert fashion.train.labels.bincount().tolist() == [6000] * 10
    assert fashion.test.inputs.shape == (10_000, 1, 28, 28)
    mean, std = channel_statistics(fashion.train.inputs)
    assert mean == pytest.approx(FASHION_MNIST_MEAN, abs=1e-4)
    assert std == pytest.approx(FASHION_MNIST_STD, abs=1e-4)
