"""`likewise fit` on a disk that is full, or read-only, for a while: one sentence, nothing lost, and on it goes.

The disk is a file system of its own in memory, a few megabytes large, which only root may mount.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from likewise.training import loop
from likewise.training.checkpoint import restore_previous

Run = Callable[..., Any]

SIZE = 32 * 2**20  # bytes


def mount(*arguments: object) -> bool:
    return subprocess.run(["mount", *map(str, arguments)], capture_output=True, check=False).returncode == 0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux":
        pytest.skip("a tmpfs is mounted on Linux alone")
    place = tmp_path / "disk"
    place.mkdir()
    if not mount("-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", place):
        pytest.skip("only root may mount a file system, and not in every container")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))


def make_room(disk: Path) -> None:
    (disk / "ballast").unlink()


def forbid_writing(disk: Path) -> None:
    assert mount("-o", "remount,ro", disk)


def allow_writing(disk: Path) -> None:
    assert mount("-o", "remount,rw", disk)


@pytest.mark.parametrize(
    ("harm", "mend", "reason"),
    [
        (fill, make_room, "No space left on device"),
        (forbid_writing, allow_writing, "Read-only file system"),
    ],
    ids=["full", "read-only"],
)
@pytest.mark.parametrize("epochs", [1, 2, 5])  # that are done by then, of three in each of two stages
def test_a_disk_that_fails_costs_nothing_that_was_saved(
    epochs: int,
    harm: Callable[[Path], None],
    mend: Callable[[Path], None],
    reason: str,
    disk: Path,
    blobs: Path,
    fit_blobs: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out, save, saved = disk / "run", loop.save_checkpoint, []

    def save_and_harm(*arguments: Any) -> None:
        save(*arguments)
        saved.append(1)
        if len(saved) == epochs:
            harm(disk)

    monkeypatch.setattr(loop, "save_checkpoint", save_and_harm)
    stopped = fit_blobs(blobs, out)
    monkeypatch.undo()
    assert stopped.exit_code == 2, stopped.output
    again = "set that right and run the same command again, or give --out another place"
    last = out / "stages" / ("groups-2" if epochs > 3 else "groups-1") / "checkpoint.safetensors"
    assert stopped.stderr == f"likewise: {last.parent / 'history.csv'} cannot be written ({reason}); {again}.\n"
    assert restore_previous(last)
    mend(disk)
    assert not list(out.rglob(".*.tmp"))
    went_on = fit_blobs(blobs, out)
    assert went_on.exit_code == 0, went_on.output
    for name in ("model.safetensors", "history.csv", "answers.parquet"):
        assert (out / name).read_bytes() == (blobs / "run" / name).read_bytes()


def test_a_disk_that_was_never_writable_is_refused_at_once(disk: Path, blobs: Path, fit_blobs: Run) -> None:
    forbid_writing(disk)
    refused = fit_blobs(blobs, disk / "run")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"likewise: {disk} cannot be written to; give --out another place.\n"


def test_a_disk_that_was_full_from_the_start_is_left_as_it_was(disk: Path, blobs: Path, fit_blobs: Run) -> None:
    fill(disk)
    refused = fit_blobs(blobs, disk / "run")
    assert refused.exit_code == 2
    assert "cannot be written (No space left on device)" in refused.stderr
    assert [path.name for path in disk.iterdir()] == ["ballast"]
