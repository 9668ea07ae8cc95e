"""`likewise fit`, as typed: what it writes and prints, how it goes on, and what it refuses."""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest
import torch

import likewise
from likewise.cli import run_files
from likewise.estimators import PairClassifier
from likewise.evaluation import share_interval
from likewise.pairs import Pairs

Run = Callable[..., Any]

KILLED = """
import os, signal, sys
from likewise.clustering import agglomeration
from likewise.training import loop
from likewise.cli import main

agglomeration.FINE, agglomeration.NEIGHBOUR = (3,), (1.0,)  # as few_candidates in tests/conftest.py
agglomeration.candidates.__kwdefaults__["starts"] = 1

save, saved, most = loop.save_checkpoint, [], int(sys.argv[1])

def save_and_die(*arguments):
    save(*arguments)
    saved.append(1)
    if len(saved) == most:
        os.kill(os.getpid(), signal.SIGKILL)

loop.save_checkpoint = save_and_die
sys.argv = ["likewise", *sys.argv[2:]]
main()
"""


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_what_a_run_holds(blobs: Path) -> None:
    run = blobs / "run"
    assert {path.name for path in run.iterdir()} == {*run_files.files_of("fit"), "stages"}
    fit = json.loads((run / "fit.json").read_text())
    assert (Path(fit["items"]).name, fit["n_items"], fit["columns"]) == ("blobs.csv", 60, ["width", "height"])
    assert Path(fit["items"]).is_absolute()
    assert {name: fit["arguments"][name] for name in ("classes", "epochs", "seed", "size", "grey")} == {
        "classes": 4,
        "epochs": 3,
        "seed": 0,
        "size": 32,
        "grey": False,
    }
    with (run / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    assert [row["epoch"] for row in history] == [str(epoch) for epoch in range(1, len(history) + 1)]


def test_the_figures_are_those_of_the_saved_classifier(blobs: Path) -> None:
    run = blobs / "run"
    metrics = json.loads((run / "metrics.json").read_text())
    model = PairClassifier.load(run)
    X, truth = np.load(blobs / "blobs.npy"), np.load(blobs / "truth.npy")
    assert model.score(X, truth) == 1
    assert metrics["class_sizes"] == {str(k): 20 for k in model.classes_}
    assert (metrics["classes_found"], metrics["unused_outputs"]) == (3, 1)

    answers = pyarrow.parquet.read_table(run / "answers.parquet").to_pylist()
    with (blobs / "answers.csv").open() as file:
        given = list(csv.DictReader(file))
    assert [(row["left"], row["right"], row["same"]) for row in answers] == [
        (row["left"], row["right"], float(row["same"])) for row in given
    ]
    assert [row["line"] for row in answers] == list(range(2, len(given) + 2))
    held_out = [row for row in answers if row["held_out"]]
    rows = [[int(row[side][1:]) for side in ("left", "right")] for row in held_out]
    said = model.predict_same(X.astype(np.float32), np.array(rows)) > 0.5
    right = int(sum(said == np.array([row["same"] == 1 for row in held_out])))
    measured = metrics["held_out"]
    assert (measured["answers"], measured["right"]) == (len(held_out), right) == (24, 24)
    assert measured["interval"] == list(share_interval(np.ones(24), *np.array(rows).T))
    assert measured["same"] == sum(row["same"] == 1 for row in held_out)
    assert metrics["seconds"] > 0


def test_what_it_prints(blobs: Path) -> None:
    printed = (blobs / "printed.txt").read_text()
    assert "240 answers, 71 same and 169 different" in printed
    assert "Found 3 classes; 1 of 4 outputs is not used:\n  class  items\n" in printed
    assert printed.count("     20\n") == 3
    assert "It is right about 24 of 24 held-out answers, 100.0 % (95 % interval " in printed
    assert "The pairs that nobody answered" not in printed  # the items are vectors, and all are in groups
    for command in ("report", "name", "predict"):
        assert f"\n  likewise {command} " in printed


def test_broken_images_are_listed_and_their_answers_left_out(photos: Path) -> None:
    with (photos / "answers.csv").open() as file:
        given = list(csv.DictReader(file))
    about = sum("p00.png" in row.values() for row in given)
    first, second, third = (photos / "said.txt").read_text().splitlines()
    assert first == "likewise: warning: 1 image cannot be read and is left out:"
    assert "/photos/p00.png (this is no image of a known format" in second
    assert third == f"likewise: warning: Ignoring {about} answers about images that cannot be read."
    kept = Pairs.read(photos / "run" / "answers.parquet")
    assert len(kept) == len(given) - about
    assert "p00.png" not in kept.ids.tolist()
    assert json.loads((photos / "run" / "fit.json").read_text())["n_items"] == 39


def test_row_numbers_count_the_files_and_not_only_the_sound_ones(photos: Path, fit_photos: Run) -> None:
    folder = photos / "photos"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))
    pairs = Pairs.read(photos / "answers.csv").index(names)
    Pairs.from_arrays(np.stack([pairs.left, pairs.right], 1), pairs.same).write(photos / "answers.csv")
    result = fit_photos(photos, photos / "by-number")
    assert result.exit_code == 0, result.output
    by_name, by_number = (Pairs.read(photos / run / "answers.parquet") for run in ("run", "by-number"))
    for side in ("left", "right"):
        told = [[pairs.name(item) for item in getattr(pairs, side)] for pairs in (by_name, by_number)]
        assert told[0] == told[1]
    weights = [(photos / run / "model.safetensors").read_bytes() for run in ("run", "by-number")]
    assert weights[0] == weights[1]


def test_only_the_first_ten_broken_images_are_named(photos: Path, fit_photos: Run) -> None:
    for number in range(1, 13):
        (photos / "photos" / f"broken{number:02}.png").write_bytes(b"")
    said = fit_photos(photos, photos / "other").stderr.splitlines()
    assert said[0] == "likewise: warning: 13 images cannot be read and are left out:"
    assert said[11] == "  and 3 more"
    refused = fit_photos(photos, photos / "strict", "--strict")
    assert refused.exit_code == 2
    assert refused.stderr.startswith(f"likewise: {photos / 'photos' / 'broken01.png'} (")
    assert not (photos / "strict").exists()


def test_a_finished_run_says_so(blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("it was finished")

    monkeypatch.setattr(PairClassifier, "fit", refuse)
    before = {path: path.read_bytes() for path in (blobs / "run").rglob("*") if path.is_file() and path.stem != "fit"}
    moved = fit_blobs(blobs, blobs / "run")  # the copies lie elsewhere, but hold the same
    assert moved.exit_code == 0, moved.output
    assert f"{blobs / 'run'} is finished: the same command wrote it." in moved.stdout
    assert json.loads((blobs / "run" / "fit.json").read_text())["items"] == str(blobs / "blobs.csv")
    monkeypatch.setattr("likewise.cli.run.read_all", refuse)  # now the files are known without reading them
    again = fit_blobs(blobs, blobs / "run")
    assert again.exit_code == 0, again.output
    assert again.stdout == moved.stdout
    assert {path: path.read_bytes() for path in before} == before


def test_a_run_of_another_fit_is_refused(blobs: Path, fit_blobs: Run) -> None:
    run, before = blobs / "run", (blobs / "run" / "fit.json").read_text()

    def refused(*further: object) -> str:
        result = fit_blobs(blobs, run, *further)
        assert (result.exit_code, result.stdout) == (2, "")
        assert len(result.stderr.splitlines()) == 1
        return str(result.stderr)

    for option, value, was in (("--epochs", 4, 3), ("--noise", "learn", "auto"), ("--network", "mlp", None)):
        said = f"likewise: {run} was begun with another {option} ({was}, now {value}); give --out another folder.\n"
        assert refused(option, value) == said
    record = json.loads(before)
    del record["arguments"]["precision"]  # as a version without the option wrote it
    (run / "fit.json").write_text(json.dumps(record))
    assert "another --precision (auto, now bfloat16)" in refused("--precision", "bfloat16")
    assert fit_blobs(blobs, run).stdout.startswith(f"{run} is finished: the same command wrote it.")
    (run / "fit.json").write_text(before)
    table = (blobs / "blobs.csv").read_text()
    (blobs / "blobs.csv").write_text(table.replace("b07,", "b07,1"))
    assert f"{run} was begun with other items, or with those in {blobs / 'blobs.csv'} before" in refused()
    (blobs / "blobs.csv").write_text(table)
    answers = (blobs / "answers.csv").read_text()
    (blobs / "answers.csv").write_text("\n".join(answers.splitlines()[:-1]))
    assert f"{run} was begun with other answers" in refused()
    (blobs / "answers.csv").write_text(answers)
    assert (run / "fit.json").read_text() == before
    (run / "fit.json").unlink()
    assert refused() == f"likewise: {run} holds other files; give --out a new folder.\n"


def test_a_killed_fit_goes_on_to_the_same_model(blobs: Path, fit_blobs: Run) -> None:
    out, whole = blobs / "killed", blobs / "run"
    given = ["fit", blobs / "blobs.csv", "--pairs", blobs / "answers.csv", "--classes", 4, "--epochs", 3]
    arguments = [*given, "--batch-size", 30, "--out", out]
    environment = os.environ | {
        "PYTHONPATH": str(Path(likewise.__file__).parents[1]),
        "OMP_NUM_THREADS": str(torch.get_num_threads()),
    }
    script = [sys.executable, "-c", KILLED, 4, *arguments]  # after three epochs of one stage, and one of the next
    killed = subprocess.run([str(part) for part in script], env=environment, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert (out / "stages" / "groups-2" / "checkpoint.safetensors").exists()
    assert not (out / "metrics.json").exists()
    assert fit_blobs(blobs, out).exit_code == 0
    for name in ("model.safetensors", "history.csv", "answers.parquet"):
        assert (out / name).read_bytes() == (whole / name).read_bytes()


def test_ctrl_c_stops_and_the_same_command_goes_on(
    blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from likewise.training import loop

    step = loop.train_step

    def interrupted(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return step(*arguments)

    monkeypatch.setattr(loop, "train_step", interrupted)
    stopped = fit_blobs(blobs, blobs / "stopped")
    assert stopped.exit_code == 130
    assert stopped.stderr == "Stopped after step 1 of epoch 1; run the same command again to resume.\n"
    monkeypatch.undo()
    assert fit_blobs(blobs, blobs / "stopped").exit_code == 0
    model = "model.safetensors"
    assert (blobs / "stopped" / model).read_bytes() == (blobs / "run" / model).read_bytes()


ANSWERS = {
    "unknown ids": (["b00,b01,1", "b02,b99,0"], "line 3: right is 'b99', which is not among the 60 items"),
    "only same": (["b00,b01,1"] * 9, "All answers say same"),
    "fewer answers than classes": (["b00,b01,1", "b00,b02,0"], "2 answers about different items cannot tell 4 classes"),
    "only self pairs": (["b00,b00,1"] * 9, "0 answers about different items"),
    "no answers": ([], "holds no answers"),
    "mixed coding": (["b00,b01,-1", "b02,b03,0"], "line 2: same is -1, but line 3 has 0"),
    "not an answer": (["b00,b01,maybe"], "line 2: same must be between 0 and 1, got 'maybe'"),
}


@pytest.mark.parametrize("case", ANSWERS)
def test_answers_that_cannot_be_used(blobs: Path, fit_blobs: Run, case: str) -> None:
    rows, message = ANSWERS[case]
    (blobs / "answers.csv").write_text("\n".join(["left,right,same", *rows]))
    refuse(blobs, fit_blobs(blobs, blobs / "new"), message)


def refuse(folder: Path, result: Any, message: str) -> None:
    """One sentence, exit code 2, nothing written."""
    assert result.exit_code == 2, result.output
    *warned, said = result.stderr.splitlines()
    assert all(line.startswith("likewise: warning: ") for line in warned)
    assert said.startswith("likewise: ")
    assert message in said
    assert not (folder / "new").exists()


def test_empty_and_missing_files(blobs: Path, run: Run) -> None:
    (blobs / "empty.csv").write_text("")
    table, answers, out = blobs / "blobs.csv", blobs / "answers.csv", blobs / "new"
    for items, pairs, message in (
        (blobs / "empty.csv", answers, "is empty"),
        (table, blobs / "empty.csv", "is empty"),
        (blobs / "none.csv", answers, "does not exist"),
        (table, blobs / "none.csv", "does not exist"),
        (blobs / "few.txt", answers, "does not exist"),
        (table, blobs, "ends neither in .csv nor in .parquet"),
    ):
        refuse(blobs, run("fit", items, "--pairs", pairs, "--classes", 3, "--out", out), message)


def test_items_that_cannot_be_used(blobs: Path, run: Run, fit_blobs: Run) -> None:
    table = (blobs / "blobs.csv").read_text().splitlines()
    (blobs / "blobs.csv").write_text("\n".join([*table[:5], "b04,nan,1", *table[6:]]))
    refuse(blobs, fit_blobs(blobs, blobs / "new"), "line 6: width must be a finite number, got 'nan'")
    (blobs / "blobs.csv").write_text("\n".join(table[:2]))
    rows = "left,right,same\n" + "0,0,1\n" * 5
    (blobs / "rows.csv").write_text(rows)
    one = run("fit", blobs / "blobs.csv", "--pairs", blobs / "rows.csv", "--classes", 2, "--out", blobs / "new")
    refuse(blobs, one, "There is only one item")
    np.save(blobs / "wrong.npy", np.zeros((5, 2), dtype=complex))
    wrong = run("fit", blobs / "wrong.npy", "--pairs", blobs / "rows.csv", "--classes", 2, "--out", blobs / "new")
    refuse(blobs, wrong, "holds complex128 of shape (5, 2)")
    numbers = run("fit", blobs / "blobs.npy", "--pairs", blobs / "answers.csv", "--classes", 2, "--out", blobs / "new")
    refuse(blobs, numbers, "but the 60 items have no ids")


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--network", "lent", "'lent' is not one of 'lenet', "),
        ("--network", "vgg8", "vgg8 takes images, but the items are vectors of 2 features; use mlp or linear."),
        (
            "--noise",
            "much",
            "--noise must be auto, annotators, confusion, learn, or a rate from 0 to below 0.5, got 'much'.",
        ),
        ("--noise", "0.5", "--noise must be auto, annotators, confusion, learn, or a rate from 0 to below 0.5"),
        ("--classes", "61", "--classes is 61, but there are 60 items; give fewer."),
        ("--learning-rate", "-1", "learning_rate must be a finite number above 0"),
        ("--device", "abacus", "'abacus' is not one of auto, cpu"),
        ("--precision", "float16", "'float16' is not one of 'auto', 'float32', 'bfloat16'"),
        ("--device", "cuda:99", "Device cuda:99 is not available here"),
    ],
)
def test_arguments_that_cannot_be_used(blobs: Path, fit_blobs: Run, option: str, value: str, message: str) -> None:
    refuse(blobs, fit_blobs(blobs, blobs / "new", option, value), message)


def test_a_place_that_cannot_be_written(blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = files(blobs)
    refuse(blobs, fit_blobs(blobs, blobs / "few.csv"), "few.csv is a file; give --out the name of a folder.")
    refuse(blobs, fit_blobs(blobs, blobs / "few.csv" / "deep" / "run"), "few.csv is a file; give --out another place.")
    monkeypatch.setattr("os.access", lambda path, mode: Path(path) != blobs)  # root may write everywhere
    refuse(blobs, fit_blobs(blobs, blobs / "new"), f"{blobs} cannot be written to; give --out another place.")
    monkeypatch.undo()

    def full(path: Path, *_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("likewise.training.loop.save_checkpoint", full)
    said = f"{blobs / 'new'} cannot be written (No space left on device); set that right and run the same command again"
    refuse(blobs, fit_blobs(blobs, blobs / "new"), said)
    assert files(blobs) == before


@pytest.mark.parametrize(
    ("noise", "what"), [("auto", ", so some are wrong: all are judged together"), ("0", ": 1 of 196 are left out")]
)
def test_contradicting_repeated_and_self_answers_get_a_warning(
    blobs: Path, fit_blobs: Run, noise: str, what: str
) -> None:
    with (blobs / "answers.csv").open("a") as file:
        line = (blobs / "answers.csv").read_text().splitlines()[1]
        left, right, same = line.split(",")
        file.write(f"{line}\n{right},{left},{1 - int(same)}\nb03,b03,1\n")
    result = fit_blobs(blobs, blobs / "new", "--noise", noise)
    assert result.exit_code == 0, result.output
    itself, contradicted = result.stderr.splitlines()
    assert itself == "likewise: warning: Ignoring 1 answer that pairs an item with itself."
    assert contradicted.startswith(f"likewise: warning: The answers contradict one another{what}")
    assert len(Pairs.read(blobs / "new" / "answers.parquet")) == 243


def test_answers_that_all_say_different_get_a_warning(blobs: Path, fit_blobs: Run) -> None:
    lines = (blobs / "answers.csv").read_text().splitlines()
    (blobs / "answers.csv").write_text("\n".join([lines[0], *(line for line in lines[1:] if line.endswith(",0"))]))
    result = fit_blobs(blobs, blobs / "new", "--epochs", 1)
    assert result.exit_code == 0, result.output
    said = "likewise: warning: All answers say different, so nothing shows what makes two items the same.\n"
    assert result.stderr == said
    assert "No answers were held out" in result.stdout
    assert json.loads((blobs / "new" / "metrics.json").read_text())["held_out"]["interval"] is None


def test_arrays_are_fitted_by_row_number(blobs: Path, run: Run) -> None:
    pairs = Pairs.read(blobs / "answers.csv").index([f"b{row:02}" for row in range(60)])
    Pairs.from_arrays(np.stack([pairs.left, pairs.right], 1), pairs.same).write(blobs / "rows.parquet")
    given = ("--pairs", blobs / "rows.parquet", "--classes", 4, "--epochs", 3, "--batch-size", 30, "--noise", "learn")
    result = run("fit", blobs / "blobs.npy", *given, "--out", blobs / "new")
    assert result.exit_code == 0, result.output
    assert "The rate of wrong answers is taken to be " in result.stdout
    model = PairClassifier.load(blobs / "new")
    assert model.noise == "learn"
    assert model.score(np.load(blobs / "blobs.npy"), np.load(blobs / "truth.npy")) == 1
    kept = Pairs.read(blobs / "new" / "answers.parquet")
    assert kept.ids is None
    assert kept.left.tolist() == pairs.left.tolist()


def test_the_number_of_classes_is_estimated_and_said(blobs: Path, run: Run) -> None:
    given = ("--pairs", blobs / "answers.csv", "--epochs", 3, "--batch-size", 30)
    result = run("fit", blobs / "blobs.csv", *given, "--out", blobs / "new")
    assert result.exit_code == 0, result.output
    assert "Learning classes, whose number is estimated; Ctrl-C stops" in result.stdout
    said = re.search(r"\nThere seem to be 3 classes \(90 % interval (\d+) to (\d+)\)\.\n", result.stdout)
    assert said is not None
    interval = [int(said[1]), int(said[2])]
    number = json.loads((blobs / "new" / "metrics.json").read_text())["number_of_classes"]
    assert number == {"estimate": 3, "interval": interval}
    assert interval[0] <= 3 <= interval[1]
    page = blobs / "page.html"
    assert run("report", blobs / "new", "--out", page).exit_code == 0
    assert f"3 <small>({said[1]}\N{EN DASH}{said[2]})</small>" in page.read_text(encoding="utf-8")
    number = json.loads((blobs / "run" / "metrics.json").read_text())["number_of_classes"]
    assert number == {"estimate": 4, "interval": None}  # where it was given
    refused = run("fit", blobs / "blobs.csv", *given, "--classes", 3, "--out", blobs / "new")
    assert "begun with another --classes (None, now 3)" in refused.stderr


def test_a_linear_network_on_vectors_of_unit_length(blobs: Path, photos: Path, fit_blobs: Run, run: Run) -> None:
    result = fit_blobs(blobs, blobs / "new", "--network", "linear", "--unit-length")
    assert result.exit_code == 0, result.output
    model = PairClassifier.load(blobs / "new")
    assert (model.network, model.unit_length, model.input_form_.unit_length) == ("linear", True, True)
    np.save(blobs / "longer.npy", 8 * np.load(blobs / "blobs.npy"))
    for name in ("blobs", "longer"):
        predicted = run("predict", blobs / "new", blobs / f"{name}.npy", "--out", blobs / f"{name}-found.csv")
        assert predicted.exit_code == 0, predicted.output
    assert (blobs / "blobs-found.csv").read_text() == (blobs / "longer-found.csv").read_text()
    refused = fit_blobs(blobs, blobs / "new", "--network", "linear")
    assert (refused.exit_code, "begun with another --unit-length (True, now False)" in refused.stderr) == (2, True)
    result = run(
        "fit",
        photos / "photos",
        "--pairs",
        photos / "answers.csv",
        "--classes",
        3,
        "--unit-length",
        "--out",
        photos / "new",
    )
    assert "unit_length is for feature vectors, and these items are images; leave it out." in result.stderr
    assert (result.exit_code, (photos / "new").exists()) == (2, False)


def test_a_lost_model_is_made_again_from_the_stages(blobs: Path, fit_blobs: Run) -> None:
    model = blobs / "run" / "model.safetensors"
    before = model.read_bytes()
    model.unlink()
    assert fit_blobs(blobs, blobs / "run").exit_code == 0
    assert model.read_bytes() == before


def test_a_folder_that_another_version_wrote_is_refused(blobs: Path, fit_blobs: Run) -> None:
    path = blobs / "run" / "fit.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 7}))
    result = fit_blobs(blobs, blobs / "run")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert f"{path} was not written by `fit` of Likewise" in result.stderr


def test_a_file_that_cannot_be_read_is_not_said_to_be_written(blobs: Path, fit_blobs: Run) -> None:
    (blobs / "run" / "metrics.json").unlink()  # not finished, then
    config = blobs / "run" / "stages" / "groups-1" / "config.json"
    config.unlink()
    config.mkdir()
    said = fit_blobs(blobs, blobs / "run")
    again = "set that right and run the same command again"
    assert (said.exit_code, said.stderr) == (2, f"likewise: {config} cannot be read (Is a directory); {again}.\n")


def test_an_input_error_of_the_disk_is_one_of_reading(
    blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO), "pile/7.png")

    monkeypatch.setattr("likewise.training.loop.train_step", unreadable)
    said = fit_blobs(blobs, blobs / "new")
    assert said.exit_code == 2
    assert said.stderr.startswith("likewise: pile/7.png cannot be read (Input/output error); set that right")


def test_answers_of_several_annotators_are_merged(blobs: Path, run: Run, fit_blobs: Run) -> None:
    given = Pairs.read(blobs / "answers.csv")
    names, random = given.ids[given.left], np.random.default_rng(0)
    columns = {"left": np.tile(names, 3), "right": np.tile(given.ids[given.right], 3)}
    said = np.concatenate([given.same, given.same, random.random(len(given)) < 0.5])
    annotator = np.repeat(["ann", "bob", "chance"], len(given))
    Pairs.from_frame({**columns, "same": said, "annotator": annotator}).write(blobs / "answers.csv")
    result = fit_blobs(blobs, blobs / "merged", "--noise", "0")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == (
        f"{blobs / 'answers.csv'}: 720 answers of 3 annotators are merged into 240, by how reliable each annotator is; "
        "likewise check shows it."
    )
    assert result.stderr == ""  # nothing contradicts
    used = Pairs.read(blobs / "merged" / "answers.parquet")
    merged = Pairs.read(blobs / "answers.csv").merged()
    np.testing.assert_allclose(used.same, merged.same)
    assert ((used.same > 0.5) == (given.same > 0.5)).all()
    assert run("report", blobs / "merged").exit_code == 0


def test_annotators_and_wrong_answers_are_told_and_reported(blobs: Path, run: Run, fit_blobs: Run) -> None:
    """Ann is right but for five answers, bob is reversed, and chance guesses; they answer different pairs."""
    given, random = Pairs.read(blobs / "answers.csv"), np.random.default_rng(0)
    slips = random.permutation(240)[:5]
    said = given.same.copy()
    said[slips] = 1 - said[slips]
    y = np.repeat(["ann", "bob", "chance"], 80)[random.permutation(240)]
    said[y == "bob"] = 1 - said[y == "bob"]
    said[y == "chance"] = random.random(80) < 0.5
    frame = {"left": given.ids[given.left], "right": given.ids[given.right], "same": said, "annotator": y}
    Pairs.from_frame(frame).write(blobs / "answers.csv")
    result = fit_blobs(blobs, blobs / "judged")
    assert result.exit_code == 0, result.output
    assert "of the answers look wrong (" in result.stdout
    assert "  bob answers the wrong way round; what they say is taken as its opposite." in result.stdout
    assert "  chance looks random; their answers hardly count." in result.stdout
    facts = json.loads((blobs / "judged" / "metrics.json").read_text())["answers"]
    listed = f"{facts['likely_wrong']} are listed in the report."
    assert listed in result.stdout
    wrong = said != given.same
    assert facts["share_wrong"] == pytest.approx(wrong.mean(), abs=0.05)
    found = pyarrow.parquet.read_table(blobs / "judged" / "answers.parquet").to_pydict()
    assert [*found["annotator"]] == y.tolist()
    assert (np.array(found["p_wrong"]) > 0.5)[wrong].mean() > 0.9
    report = run("report", blobs / "judged")
    assert listed in report.stdout, report.output
    page = (blobs / "judged" / "report.html").read_text()
    assert "Answers to ask again" in page
    assert page.count("<dt>Wrong by</dt>") == min(facts["likely_wrong"], 100)
    assert "answers the wrong way round" in page
    again = PairClassifier.load(blobs / "judged")
    assert again.credibility_ == facts
    assert again.p_wrong_ is None


def test_of_pure_noise_a_fit_claims_nothing(blobs: Path, run: Run, fit_blobs: Run) -> None:
    given = Pairs.read(blobs / "answers.csv")
    guesses = np.random.default_rng(0).random(len(given)) < 0.5
    frame = {"left": given.ids[given.left], "right": given.ids[given.right], "same": guesses}
    Pairs.from_frame(frame).write(blobs / "answers.csv")
    result = fit_blobs(blobs, blobs / "noise")
    assert result.exit_code == 0, result.output
    assert "It is impossible to say which answers are wrong" in result.stdout
    assert "look wrong" not in result.stdout
    facts = json.loads((blobs / "noise" / "metrics.json").read_text())["answers"]
    assert (facts["supported"], facts["outliers"]) == (False, [])
    assert run("report", blobs / "noise").exit_code == 0
    page = (blobs / "noise" / "report.html").read_text()
    assert "It is impossible to say which answers are wrong" in page
    assert "Answers to ask again" not in page


def test_a_log_shows_early_how_long_it_takes(blobs: Path, fit_blobs: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is no terminal; nothing was printed by an earlier fit of this process."""
    monkeypatch.setattr("likewise.training.progress.Lines.last", -float("inf"))
    lines = fit_blobs(blobs, blobs / "new").stdout.splitlines()
    (first, *_) = [line for line in lines if "epoch" in line]
    assert first.startswith("groups, round 1: epoch 1/3, step 2/")
    assert first.endswith(" left in this stage")
