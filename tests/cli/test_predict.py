"""`likewise predict`, as typed: the classes of items, from any kind of file, and what it refuses."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from likewise.datasets import load_folder
from likewise.estimators import PairClassifier

Run = Callable[..., Any]


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def refuse(result: Any, message: str, out: Path) -> None:
    """One sentence, exit code 2, nothing written."""
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert not out.exists()
    assert not list(out.parent.glob(".*"))


def test_classes_and_probabilities_are_the_models(blobs: Path, run: Run) -> None:
    out = blobs / "deep" / "predictions.csv"
    result = run("predict", blobs / "run", blobs / "blobs.csv", "--out", out, "--batch-size", 7)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0] == f"Wrote {out}: 60 items in 3 classes."
    found, model = rows(out), PairClassifier.load(blobs / "run")
    X = np.load(blobs / "blobs.npy").astype(np.float32)
    assert list(found[0]) == ["id", "class", "probability"]
    assert [row["id"] for row in found] == [f"b{row:02}" for row in range(60)]
    assert [int(row["class"]) for row in found] == model.predict(X).tolist()
    expected = model.predict_proba(X).max(1)
    np.testing.assert_allclose([float(row["probability"]) for row in found], expected, atol=1e-6)


def test_the_size_of_a_batch_does_not_matter(blobs: Path, run: Run) -> None:
    for batch in (1, 59, 1000):
        assert run(
            "predict", blobs / "run", blobs / "blobs.csv", "--out", blobs / f"{batch}.csv", "--batch-size", batch
        )
    assert rows(blobs / "1.csv") == rows(blobs / "59.csv") == rows(blobs / "1000.csv")


def test_parquet_has_types_and_names(blobs: Path, run: Run) -> None:
    assert run("predict", blobs / "run", blobs / "blobs.npy", "--out", blobs / "p.parquet").exit_code == 0
    numbered = pyarrow.parquet.read_table(blobs / "p.parquet")
    assert numbered.schema.types == [pa.int64(), pa.int64(), pa.float32()]
    assert numbered["id"].to_pylist() == list(range(60))  # an array without ids: its row numbers
    assert run("name", blobs / "run", "--labels", blobs / "few.csv").exit_code == 0
    result = run("predict", blobs / "run", blobs / "blobs.csv", "--out", blobs / "p.parquet", "--batch-size", 25)
    assert len(result.stdout.splitlines()) == 1
    named = pyarrow.parquet.read_table(blobs / "p.parquet")
    assert named.schema.types == [pa.string(), pa.string(), pa.float32()]
    truth = np.array(["ant", "bee", "cat"])[np.load(blobs / "truth.npy")]
    assert named["class"].to_pylist() == truth.tolist()


def test_every_probability_by_choice(blobs: Path, run: Run) -> None:
    command = ("predict", blobs / "run", blobs / "blobs.csv", "--probabilities", "--batch-size", 25, "--out")
    assert run(*command, blobs / "p.csv").exit_code == 0
    found, model = rows(blobs / "p.csv"), PairClassifier.load(blobs / "run")
    names = [f"probability_{name}" for name in model.classes_]
    assert list(found[0]) == ["id", "class", "probability", *names]
    expected = model.predict_proba(np.load(blobs / "blobs.npy").astype(np.float32))
    np.testing.assert_allclose([[float(row[name]) for name in names] for row in found], expected, atol=1e-6)
    assert run("name", blobs / "run", "--labels", blobs / "few.csv").exit_code == 0
    assert run(*command, blobs / "p.parquet").exit_code == 0
    table = pyarrow.parquet.read_table(blobs / "p.parquet")
    assert table.column_names[3:] == ["probability_ant", "probability_bee", "probability_cat"]
    np.testing.assert_allclose(sum(table[name].to_numpy() for name in table.column_names[3:]), 1, rtol=1e-5)


def test_to_standard_output(blobs: Path, run: Run) -> None:
    command = ("predict", blobs / "run", blobs / "blobs.csv", "--probabilities", "--batch-size", 25)
    assert run(*command, "--out", blobs / "p.csv").exit_code == 0
    result = run(*command, "--out", "-")
    assert result.exit_code == 0, result.output
    assert result.stdout == (blobs / "p.csv").read_text()
    assert result.stderr.splitlines()[0] == "Printed 60 items in 3 classes."
    assert not (blobs / "-").exists()
    refused = run("predict", blobs / "run", blobs / "none.csv", "--out", "-")
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_columns_are_found_by_name(blobs: Path, run: Run, write_rows: Run) -> None:
    table = rows(blobs / "blobs.csv")
    shuffled = ((row["height"], "x", row["id"], row["width"]) for row in table)
    write_rows(blobs / "other.csv", ("height", "note", "id", "width"), *shuffled)
    for name in ("blobs", "other"):
        assert run("predict", blobs / "run", blobs / f"{name}.csv", "--out", blobs / f"of-{name}.csv").exit_code == 0
    assert rows(blobs / "of-blobs.csv") == rows(blobs / "of-other.csv")


def test_a_folder_of_images_of_any_size(photos: Path, run: Run) -> None:
    new = photos / "new"
    shutil.copytree(photos / "photos" / "more", new)
    for path in new.iterdir():
        with Image.open(path) as image:
            large = image.convert("RGB").resize((40, 40), Image.Resampling.NEAREST)
        large.save(path)
    (new / "zz.png").write_bytes(b"no picture")
    result = run("predict", photos / "run", new, "--out", photos / "p.csv", "--batch-size", 6)
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[0] == "likewise: warning: 1 image cannot be read and is left out:"
    assert str(new / "zz.png") in result.stderr
    found, model = rows(photos / "p.csv"), PairClassifier.load(photos / "run")
    (new / "zz.png").unlink()
    items = load_folder(new, size=8, channels=1)
    assert [row["id"] for row in found] == list(items.ids)
    assert [int(row["class"]) for row in found] == model.predict(items.inputs).tolist()


def test_strict_refuses_broken_images(photos: Path, run: Run) -> None:
    result = run("predict", photos / "run", photos / "photos", "--out", photos / "p.csv", "--strict")
    refuse(result, f"{photos / 'photos' / 'p00.png'} (", photos / "p.csv")


def test_items_that_the_model_does_not_take(blobs: Path, photos: Path, run: Run) -> None:
    np.save(blobs / "three.npy", np.zeros((4, 3)))
    np.save(blobs / "images.npy", np.zeros((4, 9, 9), dtype=np.uint8))
    (blobs / "columns.csv").write_text("id,width\na,1\n")
    for fitted, items, message in (
        (blobs, blobs / "three.npy", "holds 3 features, but the model takes 2 features; give items like those."),
        (blobs, blobs / "columns.csv", "has no column 'height', its columns are 'id', 'width'"),
        (blobs, photos / "photos", "is a folder of images, but the model takes 2 features"),
        (photos, blobs / "blobs.csv", "holds 2 features, but the model takes images of 1x8x8"),
        (photos, blobs / "images.npy", "holds images of 1x9x9, but the model takes images of 1x8x8"),
        (blobs, blobs / "none.csv", "does not exist"),
    ):
        refuse(run("predict", fitted / "run", items, "--out", blobs / "p.csv"), message, blobs / "p.csv")


def test_a_bad_row_far_down_leaves_what_was_there(blobs: Path, run: Run) -> None:
    with (blobs / "blobs.csv").open("a") as file:
        file.write("last,1,inf\n")
    for name in ("p.csv", "p.parquet"):
        result = run("predict", blobs / "run", blobs / "blobs.csv", "--out", blobs / name, "--batch-size", 10)
        refuse(result, "line 62: height must be a finite number, got 'inf'", blobs / name)
    (blobs / "p.csv").write_text("as it was")
    assert run("predict", blobs / "run", blobs / "blobs.csv", "--out", blobs / "p.csv").exit_code == 2
    assert (blobs / "p.csv").read_text() == "as it was"


def test_places_that_cannot_be_written(blobs: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (blobs / "blobs.csv").read_bytes()
    (blobs / "folder.csv").mkdir()
    for out, message in (
        (blobs / "p.txt", "must end in .csv or .parquet; give --out such a name."),
        (blobs / "folder.csv", "is a folder; give --out the name of a file."),
        (blobs / "few.csv" / "p.csv", "few.csv is a file; give --out another place."),
        (blobs / "blobs.csv", "holds the items; give --out another name."),
    ):
        result = run("predict", blobs / "run", blobs / "blobs.csv", "--out", out)
        assert result.exit_code == 2
        assert message in result.stderr
    assert (blobs / "blobs.csv").read_bytes() == before

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = run("predict", blobs / "run", blobs / "blobs.csv", "--out", blobs / "p.csv")
    refuse(result, "cannot be written (No space left on device); set that right", blobs / "p.csv")


def test_a_folder_that_is_no_run_or_was_changed(blobs: Path, run: Run) -> None:
    folder, out = blobs / "run", blobs / "p.csv"
    record = json.loads((folder / "classifier.json").read_text())
    weights = (folder / "model.safetensors").read_bytes()

    def refused(message: str) -> None:
        refuse(run("predict", folder, blobs / "blobs.csv", "--out", out), message, out)

    (folder / "model.safetensors").write_bytes(weights[:-1] + bytes([weights[-1] ^ 1]))
    refused("model.safetensors was changed since classifier.json was written")
    (folder / "model.safetensors").unlink()
    refused("model.safetensors is missing")
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "classifier.json").write_text(json.dumps(record | {"format": 99, "likewise": "9.0"}))
    refused("classifier.json has format 99 (Likewise 9.0)")
    (folder / "classifier.json").write_text(json.dumps({key: record[key] for key in ("format", "likewise")}))
    refused("classifier.json is not whole")
    (folder / "classifier.json").write_text(json.dumps(record)[:-20])
    refused("classifier.json is not JSON")
    (folder / "classifier.json").unlink()
    refused("holds no classifier: classifier.json is missing")
    refuse(run("predict", blobs / "nowhere", blobs / "blobs.csv", "--out", out), "holds no classifier", out)


def test_a_classifier_saved_from_python_predicts_too(blobs: Path, run: Run) -> None:
    PairClassifier.load(blobs / "run").save(blobs / "saved")
    for folder in ("run", "saved"):
        assert run("predict", blobs / folder, blobs / "blobs.csv", "--out", blobs / f"{folder}.csv").exit_code == 0
    assert rows(blobs / "run.csv") == rows(blobs / "saved.csv")
