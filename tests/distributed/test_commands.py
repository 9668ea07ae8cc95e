"""Commands in several processes, as one types them: what is printed and written, and what happens to a killed one."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from likewise.cli import app
from likewise.cli.processes import dealt_out
from likewise.pairs import Pairs

FIT = ("fit", "blobs.csv", "--pairs", "answers.csv", "--classes", "3", "--batch-size", "30", "--no-unlabelled")

NOTING = """
import os
from likewise.training import loop
from likewise.cli import main

train_epoch = loop.train_epoch

def noted(job, state, *further):
    if os.environ["RANK"] == "0":
        with open("epochs.txt", "a") as file:
            print(os.getpid(), state.epoch, file=file)
    train_epoch(job, state, *further)

loop.train_epoch = noted
main()
"""

LARGE = """
from likewise.pairs import large
from likewise.cli import main

large.A_CSV_BYTE = 10**9  # as if the file were far larger than memory
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three blobs in a table, and answers about them."""
    made = tmp_path_factory.mktemp("blobs")
    X, y = make_blobs(90, n_features=4, centers=3, random_state=0)
    pairs = Pairs.from_labels(y, n=200)
    _write(made / "blobs.csv", "id,a,b,c,d", [[f"i{row}", *values] for row, values in enumerate(X)])
    answers = zip(pairs.left, pairs.right, pairs.same, strict=True)
    _write(made / "answers.csv", "left,right,same", [[f"i{a}", f"i{b}", int(same)] for a, b, same in answers])
    return made


def _write(path: Path, header: str, rows: list[list[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header.split(","), *rows])


def likewise(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Type `likewise ...` in a folder."""
    return python(folder, "-m", "likewise", *arguments)


def python(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, *arguments]
    quiet = os.environ | {"OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=quiet, stdout=pipe, stderr=pipe, text=True)


def when_a_checkpoint_is_there(process: subprocess.Popen[str], run: Path) -> list[str]:
    """Wait for it, and give the ids of the two processes that were started."""
    while not (run / "stages" / "groups-1" / "checkpoint.safetensors").exists():
        assert process.poll() is None
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert len(children) == 2
    return children


@pytest.fixture(scope="module")
def wrong(folder: Path) -> tuple[list[str], int, str]:
    """A fit in two processes from answers of which some are wrong: its command, how many, and what it printed."""
    rows = [line.split(",") for line in (folder / "answers.csv").read_text().splitlines()[1:]]
    answers = [[a, b, 1 - int(same) if number % 9 == 0 else same] for number, (a, b, same) in enumerate(rows)]
    _write(folder / "wrong.csv", "left,right,same", answers)
    command = [*FIT[:3], "wrong.csv", *FIT[4:], "--epochs", "2"]
    process = likewise(folder, *command, "--out", "two", "--processes", "2", "--sync-batch-norm")
    out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert errors.count("likewise: warning: The answers contradict one another") == errors.count("\n") == 1
    return command, len(answers[::9]), out


def test_fit_in_two_processes_prints_and_writes_once(
    folder: Path, wrong: tuple[list[str], int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command, _, out = wrong
    assert out.count("Found 3 classes") == out.count("Wrote two") == out.count("of the answers look wrong") == 1
    monkeypatch.chdir(folder)
    again = CliRunner().invoke(app, [*command, "--out", "two"])  # with one process, it is the same run
    assert "two is finished" in again.stdout
    assert CliRunner().invoke(app, ["predict", "two", "blobs.csv", "--out", "one.csv"]).exit_code == 0
    process = likewise(
        folder, "predict", "two", "blobs.csv", "--out", "two.csv", "--batch-size", "40", "--processes", "2"
    )
    assert process.communicate() == (
        "Wrote two.csv: 90 items in 3 classes.\n"
        "A class is the number of an output; likewise name two --labels few.csv names it.\n",
        "",
    )
    one, two = ((folder / name).read_text().splitlines() for name in ("one.csv", "two.csv"))
    assert [row.rpartition(",")[0] for row in one] == [row.rpartition(",")[0] for row in two]
    assert len(one) == 91


def test_wrong_answers_are_judged_alike_in_two_processes(
    folder: Path, wrong: tuple[list[str], int, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first process judges for all; one process comes to the same rates."""
    command, n_wrong, _ = wrong
    monkeypatch.chdir(folder)
    assert CliRunner().invoke(app, [*command, "--out", "one"]).stdout.count("of the answers look wrong") == 1
    found = [json.loads((folder / name / "metrics.json").read_text())["answers"] for name in ("two", "one")]
    assert found[0]["share_wrong"] == pytest.approx(found[1]["share_wrong"], rel=0.02)
    assert found[0]["likely_wrong"] == found[1]["likely_wrong"] == n_wrong


def test_bad_input_is_told_once(folder: Path) -> None:
    process = likewise(folder, *FIT[:3], "missing.csv", *FIT[4:], "--out", "bad", "--processes", "2")
    out, errors = process.communicate()
    assert process.returncode == 2
    assert out == ""
    assert errors == "likewise: missing.csv does not exist; give the CSV or Parquet file that holds the answers.\n"
    assert not (folder / "bad").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")
def test_a_killed_process_ends_the_job_and_the_same_command_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = (*FIT, "--epochs", "12", "--out", "killed")
    process = likewise(folder, *command, "--processes", "2")
    children = when_a_checkpoint_is_there(process, folder / "killed")
    os.kill(int(children[1]), signal.SIGKILL)
    errors = process.communicate()[1]
    assert process.returncode == 1
    assert "likewise: process 2 of 2 was killed (SIGKILL), and the others were stopped." in errors
    assert "Traceback" not in errors
    assert not any(Path(f"/proc/{child}").exists() for child in children)
    monkeypatch.chdir(folder)
    assert "Found 3 classes" in CliRunner().invoke(app, command).stdout  # in one process


@pytest.mark.skipif(sys.platform != "linux", reason="children are found in /proc")
def test_torchrun_restarts_a_killed_job_which_goes_on_from_the_last_checkpoint(folder: Path) -> None:
    (folder / "noting.py").write_text(NOTING)
    torchrun = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "1")
    process = python(folder, *torchrun, "noting.py", *FIT, "--epochs", "12", "--out", "restarted")
    children = when_a_checkpoint_is_there(process, folder / "restarted")
    os.kill(int(children[1]), signal.SIGKILL)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert out.count("Learning 3 classes") == 2
    assert out.count("Found 3 classes") == 1
    begun: dict[str, int] = {}
    for line in (folder / "epochs.txt").read_text().splitlines():
        begun.setdefault(line.split()[0], int(line.split()[1]))
    assert [epoch > 0 for epoch in begun.values()] == [False, True]  # of the first process, before and after


def test_answers_too_large_for_memory_are_closed_once_for_all_processes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "large.py").write_text(LARGE)
    command = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "large.py")
    out, errors = python(folder, *command, *FIT, "--epochs", "12", "--out", "large").communicate()
    assert "Wrote large" in out, errors
    assert (folder / "large" / "answers").is_dir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr("likewise.pairs.large.A_CSV_BYTE", 10**9)
    alone = CliRunner().invoke(app, [*FIT, "--epochs", "12", "--out", "alone"])
    assert alone.exit_code == 0, alone.output
    for name in ("large", "alone"):
        assert CliRunner().invoke(app, ["predict", name, "blobs.csv", "--out", f"{name}.csv"]).exit_code == 0
    one, two = ((folder / f"{name}.csv").read_text().splitlines() for name in ("alone", "large"))
    assert [row.rpartition(",")[0] for row in one] == [row.rpartition(",")[0] for row in two]


def test_processes_end_with_the_one_that_started_them(folder: Path) -> None:
    child = "import sys, time; from likewise.cli.processes import end_with; end_with(int(sys.argv[1])); time.sleep(600)"
    command = f"[sys.executable, '-c', {child!r}, str(os.getpid())]"
    starts = f"import os, subprocess, sys; print(subprocess.Popen({command}).pid, flush=True); os._exit(0)"
    # the child holds the pipe of what is printed, so that this returns when it is gone, and not after ten minutes
    ran = subprocess.run([sys.executable, "-c", starts], capture_output=True, timeout=120, check=True)
    assert (int(ran.stdout) > 0, ran.stderr) == (True, b"")


def test_torchrun_and_processes_must_agree(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("RANK", "0")
    result = CliRunner().invoke(app, [*FIT, "--out", str(folder / "other"), "--processes", "2"])
    assert result.exit_code == 2
    assert "--processes is 2, but torchrun has started 3; leave --processes out." in result.stderr


def test_rows_of_a_table_are_dealt_out_by_what_they_share(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = ["a1", "b1", "a2", "c1", "b2", "d1"]
    dealt = []
    monkeypatch.setenv("WORLD_SIZE", "3")
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        dealt.append(dealt_out(rows, key=lambda row: row[0]))
    assert dealt == [["a1", "a2", "d1"], ["b1", "b2"], ["c1"]]
