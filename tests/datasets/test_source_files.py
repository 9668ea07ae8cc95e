"""What unpacks to far more than it should is given up, and nothing is written anywhere."""

from __future__ import annotations

import gzip
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from likewise.datasets import load_arrays, source_files
from likewise.datasets.cifar import CIFAR10, load_cifar10
from likewise.datasets.idx import read_idx
from likewise.errors import InputError


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any file may unpack to a megabyte, and not to a gigabyte."""
    monkeypatch.setattr(source_files, "ALWAYS", 2**20)


@pytest.mark.usefixtures("small")
def test_a_gzip_bomb_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "labels.gz"
    path.write_bytes(gzip.compress(bytes(2**25)))
    with pytest.raises(OSError, match="it unpacks to more than "):
        source_files.gunzip(path)
    with pytest.raises(InputError, match=r"cannot be read \(it unpacks to more than .* bytes\); replace it"):
        read_idx(path, 1)
    (tmp_path / CIFAR10.archive).write_bytes(path.read_bytes())
    with pytest.raises(InputError, match="cannot be read"):
        load_cifar10(tmp_path)


@pytest.mark.usefixtures("small")
def test_an_npz_bomb_is_given_up(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros((2**18, 64)))
    with pytest.raises(InputError, match="it unpacks to far more than a file of its size should"):
        load_arrays(tmp_path / "a.npz")


@pytest.mark.usefixtures("small")
def test_what_an_honest_file_unpacks_to_is_kept(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).bytes(2**21)
    (tmp_path / "a.gz").write_bytes(gzip.compress(noise))
    assert source_files.gunzip(tmp_path / "a.gz") == noise


def test_a_header_that_promises_terabytes_asks_for_no_memory(tmp_path: Path) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros((4, 4)))
    content = file.getvalue().replace(b"(4, 4), }" + b" " * 20, b"(99999999999, 99999), }" + b" " * 6)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(InputError, match=r"plain arrays \(buffer is smaller than requested size\)"):
        load_arrays(tmp_path / "a.npz")
