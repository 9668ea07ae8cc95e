"""Items that stay on disk: the same run to the bit, killed or not, and nothing left where it was refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from likewise.cli import items, run_files
from likewise.datasets import Items, on_disk
from likewise.pairs import Pairs

Run = Callable[..., Any]

SAME = ("model.safetensors", "history.csv", "answers.parquet", "classifier.json")
TABLE = ("--classes", "4", "--epochs", "3", "--batch-size", "30", "--on-disk")

KILLED = """
import os, signal, sys
from likewise.clustering import agglomeration
from likewise.training import loop
from likewise.cli import main

agglomeration.FINE, agglomeration.NEIGHBOUR = (3,), (1.0,)  # as few_candidates in tests/conftest.py
agglomeration.candidates.__kwdefaults__["starts"] = 1

save, saved = loop.save_checkpoint, []

def save_and_die(*arguments):
    save(*arguments)
    saved.append(1)
    if len(saved) == 2:
        os.kill(os.getpid(), signal.SIGKILL)

loop.save_checkpoint = save_and_die
sys.argv = ["likewise", *sys.argv[1:]]
main()
"""


def assert_same(run: Path, other: Path) -> None:
    for name in SAME:
        assert (run / name).read_bytes() == (other / name).read_bytes()
    figures, others = (json.loads((folder / "fit.json").read_text()) for folder in (run, other))
    assert {**figures, "stamp": "", "items": ""} == {**others, "stamp": "", "items": "", "source": figures["source"]}


def test_images_on_disk_give_the_weights_of_images_in_memory(photos: Path, fit_photos: Run) -> None:
    result = fit_photos(photos, photos / "disk", "--on-disk")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"The items stay on disk: they take 0.0 GB in {photos / 'disk' / 'items'}.\n")
    assert result.stderr.startswith("likewise: warning: 1 image cannot be read and is left out:\n")
    assert "p00.png" in result.stderr
    assert fit_photos(photos, photos / "memory").exit_code == 0
    assert_same(photos / "disk", photos / "memory")
    assert (photos / "disk" / "items" / "inputs.npy").exists()
    assert not (photos / "memory" / "items").exists()


def test_a_killed_run_on_disk_goes_on_to_the_weights_of_one_in_memory(
    blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = blobs / "disk"
    command = [sys.executable, "-c", KILLED, "fit", blobs / "blobs.csv", "--pairs", blobs / "answers.csv", *TABLE]
    threads = os.environ | {"OMP_NUM_THREADS": str(torch.get_num_threads())}  # other numbers round otherwise
    killed = subprocess.run([*map(str, command), "--out", str(out)], env=threads, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with monkeypatch.context() as patched:
        patched.setattr(on_disk, "_check_room", lambda *_: pytest.fail("the items were written again"))
        assert fit_blobs(blobs, out, "--on-disk").exit_code == 0
    assert fit_blobs(blobs, blobs / "memory").exit_code == 0
    assert_same(out, blobs / "memory")


def test_items_that_would_fill_the_memory_stay_on_disk(
    blobs: Path, fit_blobs: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 0)
    monkeypatch.setattr("likewise.storage.records.memory", lambda: 2 * 60 * 2 * 4 - 1)  # 60 items of two columns
    assert "The items stay on disk" in fit_blobs(blobs, blobs / "disk").stdout
    assert "The items stay on disk" in run("report", blobs / "run").stdout
    monkeypatch.setattr("likewise.storage.records.memory", lambda: 2 * 60 * 2 * 4)
    (blobs / "disk" / "metrics.json").unlink()
    assert "stay on disk" not in fit_blobs(blobs, blobs / "disk").stdout  # the same run goes on in memory


def test_every_process_of_a_machine_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("likewise.storage.records.memory", lambda: 600)
    for processes, too_large in (("3", False), ("4", True)):
        monkeypatch.setenv("LOCAL_WORLD_SIZE", processes)
        assert items.is_too_large(100) == too_large


def test_what_is_refused_leaves_no_items(blobs: Path, fit_blobs: Run, write_rows: Run) -> None:
    write_rows(blobs / "answers.csv", ("left", "right", "same"), ("b00", "b99", 1))
    result = fit_blobs(blobs, blobs / "refused", "--on-disk")
    assert result.exit_code == 2
    assert "right is 'b99', which is not among the 60 items" in result.stderr
    assert not (blobs / "refused").exists()


def test_semi_learns_the_same_from_items_on_disk(photos: Path, run: Run) -> None:
    told = ("semi", photos / "photos", "--labels", photos / "few.csv", "--size", 8, "--grey", "--epochs", 1)
    for place, further in (("memory", ()), ("disk", ("--on-disk",))):
        result = run(*told, "--method", "pseudo-mcl+", "--out", photos / place, *further)
        assert result.exit_code == 0, result.output
    for name in ("model.safetensors", "history.csv"):
        assert (photos / "disk" / name).read_bytes() == (photos / "memory" / name).read_bytes()


@pytest.mark.parametrize("by", ["name", "row"])
def test_large_and_small_files_leave_out_the_answers_about_a_broken_image_alike(tmp_path: Path, by: str) -> None:
    names = [f"{letter}.png" for letter in "abcdef"]
    there = [name for name in names if name != "b.png"]
    pile = Items(torch.zeros(5, 1), torch.full((5,), -1), ids=tuple(there))
    answers = [(0, 2, 1), (0, 1, 1), (2, 3, 0), (1, 5, 0), (5, 4, 1)]
    index = [(names[i], names[j]) if by == "name" else (i, j) for i, j, _ in answers]
    Pairs.from_arrays(index, [same for *_, same in answers]).write(tmp_path / "answers.csv")
    given = items.LoadedItems(pile, names)
    with pytest.warns(UserWarning, match=r"^Ignoring 2 answers about images that cannot be read\.$"):
        small = items.index_answers(Pairs.read(tmp_path / "answers.csv"), given)
    with pytest.warns(UserWarning, match=r"^Ignoring 2 answers about images that cannot be read\.$"):
        large = items.close_answers(tmp_path / "answers.csv", given, tmp_path / "kept", 0.0, 0)
    for column in ("left", "right", "same", "lines"):
        assert getattr(large.sample, column).tolist() == getattr(small, column).tolist()
    assert large.closure.component.tolist() == small.closure().component.tolist()
    assert large.closure.different.tolist() == small.closure().different.tolist()


def test_a_large_file_of_answers_is_closed_on_disk(
    blobs: Path, fit_blobs: Run, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 10**9)
    result = fit_blobs(blobs, blobs / "large", "--unlabelled")
    assert result.exit_code == 0, result.output
    assert (
        f"answers.csv is read a part at a time, and what follows from it is kept in {blobs / 'large' / 'answers'}."
        in (result.stdout)
    )
    assert "answers.csv: 240 answers" in result.stdout
    assert "Found 3 classes" in result.stdout
    metrics = json.loads((blobs / "large" / "metrics.json").read_text())
    assert metrics["held_out"]["answers"] >= 10
    assert metrics["held_out"]["accuracy"] == 1
    assert run("report", blobs / "large").exit_code == 0
    assert "is finished: the same command wrote it" in fit_blobs(blobs, blobs / "large", "--unlabelled").stdout
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 1)
    (blobs / "large" / "metrics.json").unlink()
    assert "read a part at a time" in fit_blobs(blobs, blobs / "large", "--unlabelled").stdout  # as it was begun
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 10**9)
    refused = fit_blobs(blobs, blobs / "noisy", "--noise", "0.1")
    assert refused.exit_code == 2
    assert "is too large to be read whole, which --noise needs; leave it out." in refused.stderr
    assert not (blobs / "noisy").exists()


def test_large_answers_that_contradict_each_other_leave_nothing(
    blobs: Path, fit_blobs: Run, write_rows: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 10**9)
    rows = [("b00", "b01", 1), ("b01", "b02", 1), ("b00", "b02", 0)]
    write_rows(blobs / "answers.csv", ("left", "right", "same"), *rows)
    result = fit_blobs(blobs, blobs / "refused", "--held-out", "0")
    assert result.exit_code == 2
    assert '1 answer says "different" of items that chains of "same" join (line 4).' in result.stderr
    assert not (blobs / "refused").exists()


def test_a_fit_of_version_0_1_is_read(tmp_path: Path) -> None:
    fit = run_files.Fit("fit", "/items", 3, (), "/answers.csv", "line", {"seed": 0}, "a", "b", "c")
    fit.write(tmp_path)
    text = (tmp_path / "fit.json").read_text()
    (tmp_path / "fit.json").write_text(text.replace('"source', '"told'))
    assert run_files.read_fit(tmp_path) == fit
