"""`likewise evaluate`, as typed: how far a run agrees with labels, and what it refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from likewise.estimators import PairClassifier

Run = Callable[..., Any]

KINDS = ("ant", "bee", "cat")


def truth(folder: Path, write_rows: Run, wrong: int = 0) -> list[str]:
    """The label of each blob in truth.csv, of which the first few are called bee."""
    labels = [KINDS[kind] for kind in np.load(folder / "truth.npy")]
    labels[:wrong] = ["bee"] * wrong
    write_rows(folder / "truth.csv", ("id", "label"), *((f"b{row:02}", label) for row, label in enumerate(labels)))
    return labels


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_figures_are_those_of_scikit_learn_and_the_run_stays_as_it_is(blobs: Path, run: Run, write_rows: Run) -> None:
    labels, before = truth(blobs, write_rows, wrong=12), files(blobs / "run")
    said = json.loads(run("evaluate", blobs / "run", "--labels", blobs / "truth.csv", "--json").stdout)
    outputs = PairClassifier.load(blobs / "run").predict(np.load(blobs / "blobs.npy").astype(np.float32))
    right = sum(label == KINDS[kind] for label, kind in zip(labels, np.load(blobs / "truth.npy"), strict=True))
    assert said["items"] == 60
    assert said["accuracy"] == right / 60
    assert said["interval"][0] < said["accuracy"] < said["interval"][1]
    assert said["nmi"] == pytest.approx(normalized_mutual_info_score(labels, outputs, average_method="geometric"))
    assert said["ari"] == pytest.approx(adjusted_rand_score(labels, outputs))
    assert said["accuracy_by_name"] is None  # a class is the number of an output
    assert (said["classes"], said["matching"]) == (list(KINDS), list(KINDS))
    for output, row in zip(said["outputs"], said["confusion"], strict=True):
        mine = [label for label, given in zip(labels, outputs, strict=True) if given == int(output)]
        assert row == [mine.count(kind) for kind in KINDS]
    assert files(blobs / "run") == before


def test_what_is_printed(blobs: Path, run: Run, write_rows: Run) -> None:
    labels = truth(blobs, write_rows)
    result = run("evaluate", blobs / "run", "--labels", blobs / "truth.csv")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == f"{blobs / 'run'}, judged by {blobs / 'truth.csv'}: 60 items"
    assert lines[1].startswith("  ACC 100.00 % (95 % interval 94.0 to 100.0)")
    assert lines[2:4] == ["  NMI 1.0000", "  ARI 1.0000"]
    assert lines[5].split() == ["output", "stands", "for", *KINDS]
    counts = [row.split()[2:] for row in lines[6:9]]
    assert counts == [[str(labels.count(kind)) if one == kind else "0" for one in KINDS] for kind in KINDS]
    assert len(lines) == 9


def test_what_is_not_covered_is_said(blobs: Path, run: Run, write_rows: Run) -> None:
    rows = [("b00", "ant"), ("zz", "ant"), ("b01", "bee"), ("yy", "cat"), ("b02", "")]
    write_rows(blobs / "truth.csv", ("id", "label"), *rows)
    result = run("evaluate", blobs / "run", "--labels", blobs / "truth.csv")
    assert result.exit_code == 0, result.output
    assert "2 labelled ids have no prediction, the first is 'zz'." in result.stdout.splitlines()
    assert "58 items have no label, and did not count." in result.stdout.splitlines()
    said = json.loads(run("evaluate", blobs / "run", "--labels", blobs / "truth.csv", "--json").stdout)
    assert (said["items"], said["without_label"]) == (2, 58)
    assert said["without_prediction"] == {"number": 2, "first": "zz"}


def test_names_count_where_the_run_has_them(blobs: Path, run: Run, write_rows: Run) -> None:
    truth(blobs, write_rows)
    assert run("name", blobs / "run", "--labels", blobs / "few.csv").exit_code == 0
    result = run("evaluate", blobs / "run", "--labels", blobs / "truth.csv")
    assert "  100.00 % are in the class of their own name" in result.stdout.splitlines()
    swapped = {"ant": "bee", "bee": "ant", "cat": "cat"}
    labels = [KINDS[kind] for kind in np.load(blobs / "truth.npy")]
    rows = ((f"b{row:02}", swapped[label]) for row, label in enumerate(labels))
    write_rows(blobs / "truth.csv", ("id", "label"), *rows)
    said = json.loads(run("evaluate", blobs / "run", "--labels", blobs / "truth.csv", "--json").stdout)
    assert said["accuracy"] == 1
    assert said["accuracy_by_name"] == labels.count("cat") / 60


def test_other_items_than_the_runs_own(blobs: Path, run: Run, write_rows: Run) -> None:
    X, kinds = np.load(blobs / "blobs.npy"), np.load(blobs / "truth.npy")
    np.save(blobs / "new.npy", X[30:] + 0.01)
    write_rows(blobs / "new.csv", ("id", "label"), *((row, KINDS[kind]) for row, kind in enumerate(kinds[30:])))
    command = ("evaluate", blobs / "run", "--labels", blobs / "new.csv", "--items", blobs / "new.npy")
    said = json.loads(run(*command, "--json").stdout)
    assert (said["items"], said["accuracy"], said["without_label"]) == (30, 1, 0)


def test_broken_pictures_have_no_prediction(photos: Path, run: Run) -> None:
    with (photos / "few.csv").open("a") as file:
        file.write("p00.png,ant\n")
    command = ("evaluate", photos / "run", "--labels", photos / "few.csv", "--items", photos / "photos")
    result = run(*command, "--json")
    said = json.loads(result.stdout)
    assert said["without_prediction"] == {"number": 1, "first": "p00.png"}
    assert (said["items"], said["without_label"]) == (9, 30)
    assert "1 image cannot be read" in result.stderr


def test_more_outputs_than_can_be_printed(blobs: Path, run: Run, write_rows: Run) -> None:
    write_rows(blobs / "truth.csv", ("id", "label"), *((f"b{row:02}", f"kind {row}") for row in range(40)))
    result = run("evaluate", blobs / "run", "--labels", blobs / "truth.csv")
    assert "3 outputs and 40 labels are too many to print; --json has their counts." in result.stdout.splitlines()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("zz", "ant")], "has none of the 60 items, its first id is 'zz'; correct the ids, or give --items."),
        ([("b00", "ant"), ("b00", "bee")], "line 3: the id 'b00' stands there twice. Keep one of the two."),
        ([("zz", "ant"), ("zz", "bee")], "line 3: the id 'zz' stands there twice. Keep one of the two."),
        ([("b00", "")], "holds no labels"),
    ],
)
def test_labels_that_cannot_be_used(
    blobs: Path, run: Run, write_rows: Run, rows: list[tuple[str, str]], message: str
) -> None:
    write_rows(blobs / "truth.csv", ("id", "label"), *rows)
    result = run("evaluate", blobs / "run", "--labels", blobs / "truth.csv")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert message in line


def test_a_folder_that_is_no_run(blobs: Path, run: Run) -> None:
    result = run("evaluate", blobs, "--labels", blobs / "few.csv")
    assert result.exit_code == 2
    assert "fit.json is missing" in result.stderr


def test_every_field_of_the_json_is_described(blobs: Path, run: Run) -> None:
    described = set(re.findall(r"`([a-z_]+)`", (Path(__file__).parents[2] / "docs" / "json.md").read_text()))
    said = json.loads(run("evaluate", blobs / "run", "--labels", blobs / "few.csv", "--json").stdout)
    assert said.keys() | said["without_prediction"].keys() <= described
