"""Commands as nobody would type them, and run folders that were tampered with: a sentence, never a traceback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from typer.testing import CliRunner

from likewise.cli import app

fuzz = settings(settings.get_profile("fuzz"))

Damaged = Callable[[bytes], SearchStrategy[bytes]]
Refusing = Callable[[], AbstractContextManager[None]]

COMMANDS = {
    "check": (["file"], ["--repair", "--merge"]),
    "answers": (["subcommand", "file"], ["--out", "--store", "--annotator"]),
    "fit": (["items"], ["--pairs", "--classes", "--out", "--network", "--epochs", "--batch-size", "--learning-rate"]),
    "semi": (["items"], ["--labels", "--out", "--method", "--epochs", "--held-out", "--network", "--size"]),
    "discover": ([], ["--known", "--unknown", "--similarity", "--out", "--classes", "--epochs"]),
    "encode": (["items"], ["--out", "--encoder", "--text", "--batch-size"]),
    "cluster": (["items"], ["--method", "--pairs", "--classes", "--out", "--contradictions", "--set", "--size"]),
    "predict": (["run", "items"], ["--out", "--batch-size"]),
    "evaluate": (["run"], ["--labels", "--items"]),
    "name": (["run"], ["--labels", "--items"]),
    "report": (["run"], ["--items", "--out"]),
    "export": (["run"], ["--onnx"]),
    "landscape": (["run"], ["--out", "--loss", "--grid", "--range", "--n-items", "--part", "--mutual", "--plot"]),
    "data": (["subcommand"], ["--data", "--mirror"]),
    "bench": (["subcommand"], ["--out"]),
    "paper": (["subcommand"], ["--dataset", "--network", "--criterion", "--epochs", "--data", "--runs", "--results"]),
    "demo": ([], ["--epochs", "--seed"]),
}
SUBCOMMANDS = [
    "export",
    "import",
    "get",
    "list",
    "mnist",
    "criterion",
    "pairs",
    "growth",
    "table1",
    "table2",
    "table4",
    "ablation",
    "show",
    "answers",
    "no",
]
NUMBERS = ["0", "1", "2", "3", "-1", "0.1", "1e9", "nan", "inf", "-inf", "99999999999999999999", "4", "1/2", "a", ""]
WORDS = [
    "mlp",
    "lenet",
    "resnet18",
    "k-means",
    "mpck-means",
    "cop-k-means",
    "csp",
    "pseudo-mcl",
    "vat",
    "mcl,ce",
    "learn",
]
WORDS += [
    "accept",
    "refuse",
    "metric=full",
    "n_clusters=0",
    "x",
    "=",
    "digits",
    "mnist",
    "http://",
    "\udcff",
    "é",
    "-",
    "--",
]
OTHERS = [
    "--strict",
    "--grey",
    "--no-unlabelled",
    "--noise",
    "--held-out",
    "--patience",
    "--seed",
    "--device",
    "--help",
]


@pytest.fixture(scope="module")
def place(_blobs: Path, _photos: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that the commands are typed in; what they write stays there."""
    folder = tmp_path_factory.mktemp("typed")
    for name in ("blobs.csv", "blobs.npy", "answers.csv", "few.csv"):
        shutil.copy(_blobs / name, folder)
    shutil.copytree(_blobs / "run", folder / "sound")
    shutil.copytree(_photos / "photos", folder / "photos")
    (folder / "empty.csv").touch()
    (folder / "rubbish.npz").write_bytes(b"PK\x03\x04 and so on")
    (folder / "rubbish.parquet").write_bytes(b"PAR1 and so on PAR1")
    (folder / "text.txt").write_text("some text")
    np.save(folder / "objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    before = Path.cwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


PATHS = [
    "blobs.csv",
    "blobs.npy",
    "answers.csv",
    "few.csv",
    "photos",
    "photos/more",
    "empty.csv",
    "rubbish.npz",
    "run",
    ".",
]
PATHS += [
    "rubbish.parquet",
    "text.txt",
    "objects.npy",
    "missing.csv",
    "missing",
    "text.txt/below",
    "new.csv",
    "new",
    "",
]
PATHS += [
    "new.npz",
    "new.html",
    "new.onnx",
    "new.parquet",
    "x" * 300,
    "x" * 300 + ".csv",
    "/dev/null",
    "/proc/self/mem/new",
]


@pytest.fixture(scope="module", autouse=True)
def no_work() -> Iterator[None]:
    """No command trains, draws, downloads, measures or starts processes: it is stopped where that would begin."""

    def stopped(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt("Stopped.")

    with pytest.MonkeyPatch.context() as patch:
        for name in (
            "likewise.training.loop.train_step",
            "likewise.landscape.compute.compute_surface",
            "likewise.estimators.export_onnx",
            "likewise.datasets.download.fetch",
            "likewise.encoders.encoder.encode",
            "likewise.cli.processes.start",
            "likewise.cli.demo._learn",
            "likewise.cli.bench._check_writable",
        ):
            patch.setattr(name, stopped)
        patch.setenv("LIKEWISE_DATA", "nowhere")
        yield


@st.composite
def typed(draw: st.DrawFn) -> list[str]:
    """A command with some of its arguments and options, and something for each of them; sometimes the right thing."""
    command = draw(st.sampled_from(sorted(COMMANDS)))
    arguments, options = COMMANDS[command]
    value = st.sampled_from(PATHS) | st.sampled_from(NUMBERS) | st.sampled_from(WORDS)
    words = [command]
    for name in arguments:
        kind = {"items": ["blobs.csv", "photos", "blobs.npy"], "run": ["run"], "file": ["answers.csv"]}.get(
            name, SUBCOMMANDS
        )
        words.append(draw(st.sampled_from(kind) | value))
    usual = {"--out": ["new", "new.csv", "new.html"], "--pairs": ["answers.csv"], "--labels": ["few.csv"]}
    usual |= {"--classes": ["3"], "--method": ["k-means", "vat"], "--onnx": ["new.onnx"]}
    usual |= {"--known": ["photos"], "--unknown": ["photos", "blobs.csv"]}
    for option in draw(st.lists(st.sampled_from(options), unique=True)):
        words += [option, draw(st.sampled_from(usual[option]) | value if option in usual else value)]
    for option in draw(st.lists(st.sampled_from(OTHERS), max_size=2)):
        words += [option, *draw(st.lists(value, max_size=1))]
    return words if draw(st.integers(0, 9)) else draw(st.permutations(words))


def type_in(words: list[str], sound_or_refused: Refusing) -> None:
    """130 is the exit code where the work would begin."""
    with sound_or_refused():
        result = CliRunner().invoke(app, words)
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)
    assert result.exit_code in (0, 1, 2, 130), (words, result.output)
    assert "Traceback" not in result.output


@fuzz
@given(words=typed())
def test_commands(words: list[str], place: Path, sound_or_refused: Refusing) -> None:
    tidy(place)
    type_in(words, sound_or_refused)


RUN = [
    ["predict", "run", "blobs.csv", "--out", "new.csv"],
    ["report", "run", "--out", "new.html"],
    ["name", "run", "--labels", "few.csv"],
    [
        "fit",
        "blobs.csv",
        "--pairs",
        "answers.csv",
        "--classes",
        "4",
        "--epochs",
        "3",
        "--batch-size",
        "30",
        "--out",
        "run",
    ],
]


@fuzz
@given(data=st.data())
def test_damaged_runs(data: st.DataObject, place: Path, damaged: Damaged, sound_or_refused: Refusing) -> None:
    tidy(place)
    files = sorted(path for path in (place / "run").rglob("*") if path.is_file())
    file = data.draw(st.sampled_from(files))
    if file.suffix == ".json" and data.draw(st.booleans()):
        record = json.loads(file.read_text(encoding="utf-8"))
        name = data.draw(st.sampled_from(sorted(record)))
        content = json.dumps(
            record | {name: data.draw(st.sampled_from([None, 1, -1, 1e99, "", "x", [], [1], {}, True]))}
        ).encode()
    else:
        content = data.draw(damaged(file.read_bytes()))
    file.write_bytes(content)
    type_in(data.draw(st.sampled_from(RUN)), sound_or_refused)


def tidy(place: Path) -> None:
    for path in place.glob("new*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.rmtree(place / "run", ignore_errors=True)
    shutil.copytree(place / "sound", place / "run")


def test_every_command_is_typed() -> None:
    commands: Any = typer.main.get_command(app)
    assert set(commands.commands) == {*COMMANDS, "label"}  # which would serve until it is stopped: see test_label.py
