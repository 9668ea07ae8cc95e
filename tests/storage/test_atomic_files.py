"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from likewise.storage.atomic_files import WriteError, failed_to_write, open_atomically, write_atomically


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, "old")

    def fail(self: Path, target: Path) -> Path:
        assert self.parent == target.parent  # a rename between two file systems is a copy
        assert self.read_text() == "new"
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_rubbish_from_a_kill_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / ".a.json.tmp").write_bytes(b"x" * 10_000)
    write_atomically(tmp_path / "a.json", "new")
    assert (tmp_path / "a.json").read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 1


def test_an_error_while_writing_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    write_atomically(path, "old")

    def rows() -> Iterator[bytes]:
        yield b"half"
        raise ValueError("bad row")

    with pytest.raises(ValueError, match="bad row"), open_atomically(path) as file:
        file.writelines(rows())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_folders_are_made(tmp_path: Path) -> None:
    with open_atomically(tmp_path / "deep" / "er" / "a.csv") as file:
        file.write(b"new")
    assert (tmp_path / "deep" / "er" / "a.csv").read_bytes() == b"new"


def test_a_full_disk_says_which_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(OSError, match=r"No space left on device: '.*a\.csv'$"), open_atomically(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_the_old_file_is_kept_where_it_is_wanted(tmp_path: Path) -> None:
    path, old = tmp_path / "a.json", tmp_path / "a.old.json"
    for content, before in (("one", None), ("two", "one"), ("three", "two")):
        write_atomically(path, content, keep=old)
        assert path.read_text() == content
        assert (old.read_text() if old.exists() else None) == before


def test_reading_and_writing_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with pytest.raises(FileNotFoundError) as read, open_atomically(path):
        (tmp_path / "source.csv").read_bytes()
    assert not failed_to_write(read.value)
    assert read.value.filename == str(tmp_path / "source.csv")
    with pytest.raises(OSError, match="Input/output error") as unknown, open_atomically(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))  # as reading from an open file fails
    assert not failed_to_write(unknown.value)
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError) as replaced:
        write_atomically(tmp_path / "folder", "new")
    assert (replaced.value.errno, replaced.value.filename) == (errno.EISDIR, str(tmp_path / "folder"))
    with pytest.raises(WriteError) as short, open_atomically(path):
        raise OSError("1000 requested and 512 written")  # as NumPy fails to write
    assert short.value.filename == str(path)
    assert not path.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_write_that_fails_is_one_of_writing(tmp_path: Path) -> None:
    (tmp_path / ".a.csv.tmp").symlink_to("/dev/full")
    with pytest.raises(WriteError) as full, open_atomically(tmp_path / "a.csv") as file:
        file.write(b"x" * 100_000)
    assert (full.value.errno, full.value.filename) == (errno.ENOSPC, str(tmp_path / "a.csv"))
