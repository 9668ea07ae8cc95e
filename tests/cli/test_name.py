"""`likewise name`, as typed: names for the classes found, from a few labelled items."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from likewise.estimators import PairClassifier

Run = Callable[..., Any]


def test_the_outputs_get_the_names_of_the_labels(blobs: Path, run: Run) -> None:
    result = run("name", blobs / "run", "--labels", blobs / "few.csv")
    assert result.exit_code == 0, result.output
    model, truth = PairClassifier.load(blobs / "run"), np.load(blobs / "truth.npy")
    assert model.predict(np.load(blobs / "blobs.npy")).tolist() == np.array(["ant", "bee", "cat"])[truth].tolist()
    lines = result.stdout.splitlines()
    assert lines[0] == "  output  name  labelled items that agree"
    for line, name, output in zip(lines[1:4], model.classes_, model.naming_.columns, strict=True):
        n = int((truth[:12] == ("ant", "bee", "cat").index(name)).sum())
        assert line == f"  {output:>6}  {name:<4}  {n} of {n}"
    assert "12 of 12 labelled items are in the class of their name." in lines


def test_names_can_be_given_again_and_some_classes_get_none(blobs: Path, run: Run, write_rows: Run) -> None:
    assert run("name", blobs / "run", "--labels", blobs / "few.csv").exit_code == 0
    truth = np.load(blobs / "truth.npy")
    one = int(np.flatnonzero(truth == 0)[0])
    write_rows(blobs / "one.csv", ("ID", "Class"), (f" b{one:02} ", "große Ameise"), ("b59", ""), ("b58", "-1"))
    result = run("name", blobs / "run", "--labels", blobs / "one.csv")
    assert result.exit_code == 0, result.output
    model = PairClassifier.load(blobs / "run")
    assert sorted(model.classes_)[0] == "große Ameise"
    assert [name.startswith("output ") for name in model.classes_] == [False, True, True]
    assert result.stdout.count("none is labelled so") == 2
    said = model.predict(np.load(blobs / "blobs.npy"))
    assert ((said == "große Ameise") == (truth == 0)).all()


def test_labels_that_share_an_output_get_a_warning(blobs: Path, run: Run, write_rows: Run) -> None:
    of_one_class = np.flatnonzero(np.load(blobs / "truth.npy") == 0)[:3]
    write_rows(blobs / "few.csv", ("id", "label"), *((f"b{row:02}", "ab"[n > 1]) for n, row in enumerate(of_one_class)))
    result = run("name", blobs / "run", "--labels", blobs / "few.csv")
    assert result.exit_code == 0, result.output
    said = "likewise: warning: No output is left for b: their items share one with another class.\n"
    assert result.stderr == said
    assert "       -  b         0 of 1\n" in result.stdout
    assert "2 of 3 labelled items are in the class of their name." in result.stdout


def test_pictures_that_were_moved_are_found_with_items(photos: Path, run: Run) -> None:
    record = json.loads((photos / "run" / "fit.json").read_text())
    moved = photos / "moved"
    shutil.move(photos / "photos", moved)
    (photos / "run" / "fit.json").write_text(json.dumps(record | {"items": str(photos / "photos")}))
    lost = run("name", photos / "run", "--labels", photos / "few.csv")
    assert lost.exit_code == 2
    assert lost.stderr == (
        f"likewise: {photos / 'photos'}, which {photos / 'run'} was fitted to, is no longer there; "
        "give --items its new place.\n"
    )
    result = run("name", photos / "run", "--labels", photos / "few.csv", "--items", moved)
    assert result.exit_code == 0, result.output
    assert "9 of 9 labelled items are in the class of their name." in result.stdout


def test_a_labelled_picture_that_is_broken_is_left_out(photos: Path, run: Run) -> None:
    with (photos / "few.csv").open("a") as file:
        file.write("p00.png,ant\n")
    result = run("name", photos / "run", "--labels", photos / "few.csv", "--items", photos / "photos")
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith("likewise: warning: 1 of the 10 images given cannot be read, the first is ")
    assert "9 of 9 labelled items" in result.stdout


def test_row_numbers_and_parquet(blobs: Path, run: Run) -> None:
    truth = np.load(blobs / "truth.npy")
    labels = [("ant", "bee", "cat")[kind] for kind in truth[:12]]
    pyarrow.parquet.write_table(pa.table({"id": list(range(12)), "label": labels}), blobs / "few.parquet")
    for items in ("blobs.npy", "blobs.csv"):  # no ids, and ids of which none is a number
        result = run("name", blobs / "run", "--labels", blobs / "few.parquet", "--items", blobs / items)
        assert "12 of 12 labelled items" in result.stdout, result.output


def test_labels_that_cannot_be_used(blobs: Path, run: Run, write_rows: Run) -> None:
    before = {path: path.read_bytes() for path in (blobs / "run").iterdir() if path.is_file()}
    path = blobs / "bad.csv"
    for rows, message in (
        ([("id", "label"), ("b00", "ant"), ("b99", "bee")], f"{path}, line 3: the id is 'b99', which is not among the"),
        ([("id", "label"), ("60", "ant")], f"{path}, line 2: the id is '60', which is not among the 60 items, counted"),
        ([("id", "label"), ("b00", "ant"), ("b00", "bee")], f"{path}, line 3: the id 'b00' stands there twice"),
        ([("id", "kind"), ("b00", "ant")], "has no column 'label' but id, kind; name the columns id,label."),
        ([("who", "label"), ("b00", "ant")], "has no column 'id' but who, label"),
        ([("id", "label"), ("b00", "")], "holds no labels"),
        ([("id", "label")], "holds no labels"),
        ([], "is empty"),
    ):
        write_rows(path, *rows)
        result = run("name", blobs / "run", "--labels", path)
        assert (result.exit_code, result.stdout) == (2, ""), result.output
        assert len(result.stderr.splitlines()) == 1
        assert message in result.stderr
    assert "does not exist" in run("name", blobs / "run", "--labels", blobs / "none.csv").stderr
    assert "ends neither" in run("name", blobs / "run", "--labels", blobs / "truth.npy").stderr
    assert "holds no classifier" in run("name", blobs, "--labels", blobs / "few.csv").stderr
    PairClassifier.load(blobs / "run").save(blobs / "saved")
    result = run("name", blobs / "saved", "--labels", blobs / "few.csv")
    assert "does not say where its items are, because fit.json is missing; give --items." in result.stderr
    assert {path: path.read_bytes() for path in before} == before
