"""`likewise semi`, as typed: its run, what the other commands make of it, and what it refuses."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from likewise.estimators import SemiSupervisedClassifier

Run = Callable[..., Any]

QUICK = ("--epochs", 2, "--batch-size", 30)


def semi(run: Run, folder: Path, out: str = "new", *further: object, items: str = "blobs.csv") -> Any:
    return run("semi", folder / items, "--labels", folder / "few.csv", *QUICK, "--out", folder / out, *further)


def test_a_run_and_what_the_other_commands_make_of_it(blobs: Path, run: Run) -> None:
    result = semi(run, blobs)
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    out = blobs / "new"
    names = sorted(path.name for path in out.iterdir())
    files = ["classifier.json", "fit.json", "history.csv", "labels.parquet", "metrics.json", "model.safetensors"]
    assert names == [*files, "stages"]
    assert sorted(path.name for path in (out / "stages").iterdir()) == ["pseudo-mcl", "supervised"]
    truth = np.array(["ant", "bee", "cat"])[np.load(blobs / "truth.npy")]
    model = SemiSupervisedClassifier.load(out)
    right = (model.predict(np.load(blobs / "blobs.npy")) == truth).mean()
    assert right > 0.9
    assert f"{blobs / 'blobs.csv'}: 60 items\n{blobs / 'few.csv'}: 12 labels of 3 classes\n" in result.stdout
    assert "Learning by pseudo-mcl; Ctrl-C stops" in result.stdout
    assert "The 60 items, by pseudo-mcl:\n  class  items\n    ant " in result.stdout
    assert "No labels were held out, so its accuracy on other items is not known" in result.stdout
    assert "It disagrees with 0 of the 12 labels that it learned from." in result.stdout
    assert "likewise name" not in result.stdout

    predicted = run("predict", out, blobs / "blobs.csv", "--out", blobs / "p.csv")
    assert predicted.exit_code == 0, predicted.output
    with (blobs / "p.csv").open() as file:
        said = [row["class"] for row in csv.DictReader(file)]
    assert (np.array(said) == truth).mean() == right
    rows = "".join(f"b{row:02},{label}\n" for row, label in enumerate(truth))
    (blobs / "truth.csv").write_text(f"id,label\n{rows}")
    judged = json.loads(run("evaluate", out, "--labels", blobs / "truth.csv", "--json").stdout)
    assert (judged["accuracy_by_name"], judged["items"], judged["learned_from"]) == (right, 60, 12)
    reported = run("report", out)
    assert reported.exit_code == 0, reported.output
    assert reported.stdout.splitlines()[1] == "The classifier disagrees with 0 of 12 labels."
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "3 classes, learned from 12 labels" in page
    assert "by what it says of them itself (Pseudo-MCL)" in page
    exported = run("export", out, "--onnx", blobs / "model.onnx")
    assert exported.exit_code == 0, exported.output
    named = run("name", out, "--labels", blobs / "few.csv")
    assert "12 of 12 labelled items are in the class of their name." in named.stdout, named.output


def test_the_same_command_again_says_that_it_is_finished(
    blobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert semi(run, blobs).exit_code == 0
    before = (blobs / "new" / "model.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(SemiSupervisedClassifier, "fit", lambda *_: pytest.fail("it was finished"))
        again = semi(run, blobs)
        assert f"{blobs / 'new'} is finished: the same command wrote it." in again.stdout, again.output
    for option, value in (("--method", "vat"), ("--epochs", 3), ("--epsilon", 0.5)):
        other = semi(run, blobs, "new", option, value)
        assert other.exit_code == 2
        assert f"was begun with another {option} (" in other.stderr
    (blobs / "few.csv").write_text((blobs / "few.csv").read_text().replace("ant", "wasp"))
    assert "was begun with other labels, or with those in" in semi(run, blobs).stderr
    fit = run("fit", blobs / "blobs.csv", "--pairs", blobs / "answers.csv", "--classes", 3, "--out", blobs / "new")
    assert fit.stderr == f"likewise: {blobs / 'new'} was begun by `likewise semi`; give --out another folder.\n"
    assert (blobs / "new" / "model.safetensors").read_bytes() == before


def test_labels_held_out_are_measured_and_reported(blobs: Path, run: Run) -> None:
    result = semi(run, blobs, "new", "--held-out", 0.25, "--method", "pseudo-mcl+")
    assert result.exit_code == 0, result.output
    metrics = json.loads((blobs / "new" / "metrics.json").read_text())
    assert (metrics["labels"], metrics["held_out"]["labels"], metrics["unlabelled"]) == (9, 3, 48)
    right = metrics["held_out"]["right"]
    assert f"It is right about {right} of 3 held-out labels, {100 * right / 3:.1f} % (95 % interval " in result.stdout
    kept = pyarrow.parquet.read_table(blobs / "new" / "labels.parquet").to_pydict()
    assert sum(kept["held_out"]) == 3
    assert kept["id"] == [f"b{row:02}" for row in range(12)]
    assert run("report", blobs / "new").exit_code == 0
    page = (blobs / "new" / "report.html").read_text(encoding="utf-8")
    assert "3 further labels were held out" in page
    assert "true class" in page
    (blobs / "new" / "labels.parquet").unlink()
    gone = run("report", blobs / "new")
    assert "labels.parquet is missing; run its `likewise semi` again to resume." in gone.stderr


def test_pictures_of_which_a_labelled_one_is_broken(photos: Path, run: Run) -> None:
    with (photos / "few.csv").open("a") as file:
        file.write("p00.png,ant\n")
    result = semi(run, photos, "new", "--size", 8, "--grey", items="photos")
    assert result.exit_code == 0, result.output
    assert "likewise: warning: Ignoring 1 label of an image that cannot be read." in result.stderr
    assert "12 labels" not in result.stdout
    assert "9 labels of 3 classes" in result.stdout
    kept = pyarrow.parquet.read_table(photos / "new" / "labels.parquet").to_pydict()
    with (photos / "few.csv").open() as file:
        told = [(row["id"], row["label"]) for row in csv.DictReader(file)]
    assert list(zip(kept["id"], kept["label"], strict=True)) == told[:-1]
    assert run("report", photos / "new").exit_code == 0


def test_arrays_are_labelled_by_row_number(blobs: Path, run: Run, write_rows: Run) -> None:
    truth = np.load(blobs / "truth.npy")
    write_rows(blobs / "few.csv", ("id", "label"), *((row, truth[row]) for row in range(10, 30)))
    result = semi(run, blobs, "new", "--method", "supervised", items="blobs.npy")
    assert result.exit_code == 0, result.output
    kept = pyarrow.parquet.read_table(blobs / "new" / "labels.parquet").to_pydict()
    assert kept["id"] == list(range(10, 30))
    assert run("report", blobs / "new").exit_code == 0
    assert "from nothing else" in (blobs / "new" / "report.html").read_text(encoding="utf-8")


def test_every_item_labelled_is_said(blobs: Path, run: Run, write_rows: Run) -> None:
    truth = np.load(blobs / "truth.npy")
    write_rows(blobs / "few.csv", ("id", "label"), *((f"b{row:02}", truth[row]) for row in range(60)))
    result = semi(run, blobs)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("likewise: warning: Every item has a label, so nothing is left")
    assert "The 60 items, by supervised:" in result.stdout


REFUSED = {
    "no labels": ([], (), "holds no labels"),
    "labels that are none": ([("b00", ""), ("b01", "-1"), ("b02", "-100")], (), "holds no labels"),
    "one class": ([("b00", "ant"), ("b01", "ant")], (), "y holds one class, ant; label items of at least two"),
    "an unknown id": (
        [("b00", "ant"), ("b99", "bee")],
        (),
        "line 3: the id is 'b99', which is not among the 60 items. Correct it, or leave it out.",
    ),
    "an id twice": ([("b00", "ant"), ("b00", "bee")], (), "the id 'b00' stands there twice"),
    "fewer classes than labels name": (
        [("b00", "ant"), ("b01", "bee"), ("b02", "cat")],
        ("--classes", 2),
        "n_classes is 2, but",
    ),
    "a method that is none": ([("b00", "ant"), ("b01", "bee")], ("--method", "magic"), "'magic' is not one of"),
    "a network that is none": ([("b00", "ant"), ("b01", "bee")], ("--network", "lent"), "'lent' is not one of"),
    "too few for a similarity": (
        [("b00", "ant"), ("b01", "bee")],
        ("--method", "spn-mcl"),
        "No class has two items, so no pair is the same; label more items.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str, blobs: Path, run: Run, write_rows: Run) -> None:
    rows, further, message = REFUSED[case]
    write_rows(blobs / "few.csv", ("id", "label"), *rows)
    result = semi(run, blobs, "new", *further)
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not (blobs / "new").exists()


def test_a_single_item(blobs: Path, run: Run, write_rows: Run) -> None:
    write_rows(blobs / "blobs.csv", ("id", "width"), ("b00", 1.5))
    write_rows(blobs / "few.csv", ("id", "label"), ("b00", "ant"))
    assert "There is only one item; give at least two, and labels about them." in semi(run, blobs).stderr
