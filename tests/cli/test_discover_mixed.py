"""`likewise discover --mixed`, `--more` and `--pairs`, as typed, and what other commands make of such a run."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_blobs

Run = Callable[..., Any]

X, Y = make_blobs(360, n_features=6, centers=9, cluster_std=0.8, random_state=4)
NAMES = np.array(["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis"])
LABELLED = (Y < 5) & (np.arange(360) % 2 == 0)
FIRST = ~LABELLED & (Y < 7)  # five known classes and two new ones
SECOND = Y >= 6  # one of these, and two that are in neither


def write_rows(path: Path, header: list[str], rows: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, run: Run) -> Path:
    """known.npz, first.npz, second.npz, their truth, and the run of the first pile."""
    place = tmp_path_factory.mktemp("mixed")
    np.savez(place / "known.npz", X=X[LABELLED], y=NAMES[Y[LABELLED]])
    for name, chosen in (("first", FIRST), ("second", SECOND)):
        np.savez(place / f"{name}.npz", X=X[chosen])
        write_rows(place / f"{name}.csv", ["id", "label"], enumerate(NAMES[Y[chosen]]))
    given = ("--known", place / "known.npz", "--unknown", place / "first.npz", "--mixed", "--epochs", 2)
    result = run("discover", *given, "--out", place / "run")
    assert (result.exit_code, result.stderr) == (0, ""), result.output
    (place / "printed.txt").write_text(result.stdout)
    return place


def test_names_numbers_and_the_probability_of_being_new(folder: Path) -> None:
    rows = read_rows(folder / "run" / "classes.csv")
    assert list(rows[0]) == ["id", "class", "probability", "new"]
    truth = Y[FIRST]
    assert all(row["class"] == NAMES[k] for row, k in zip(rows, truth, strict=True) if k < 5)
    assert {row["class"] for row, k in zip(rows, truth, strict=True) if k >= 5} == {"new 1", "new 2"}
    assert all((float(row["new"]) > 0.5) == (k >= 5) for row, k in zip(rows, truth, strict=True))
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    assert metrics["known_classes"] == ["ant", "bee", "cat", "dog", "eel"]
    assert metrics["number_of_classes"]["estimate"] == 7
    printed = (folder / "printed.txt").read_text()
    assert "Items are compared by " in printed
    assert f"{(truth < 5).sum()} items are of known classes and {(truth >= 5).sum()} of 2 new ones." in printed


def test_evaluate_gives_all_old_and_new(folder: Path, run: Run) -> None:
    result = run("evaluate", folder / "run", "--labels", folder / "first.csv")
    assert "known classes are old, the others new: all 100.00 %, old 100.00 %, new 100.00 %" in result.stdout
    record = json.loads(run("evaluate", folder / "run", "--labels", folder / "first.csv", "--json").stdout)
    assert record["known_and_new"] == {"all": 1.0, "old": 1.0, "new": 1.0}


def test_another_pile_keeps_names_and_numbers(folder: Path, run: Run) -> None:
    result = run(
        "discover",
        "--more",
        folder / "run",
        "--unknown",
        folder / "second.npz",
        "--out",
        folder / "more",
        "--epochs",
        1,
    )
    assert result.exit_code == 0, result.output
    before = {
        row["class"] for row, k in zip(read_rows(folder / "run" / "classes.csv"), Y[FIRST], strict=True) if k == 6
    }
    rows = read_rows(folder / "more" / "classes.csv")
    assert {row["class"] for row, k in zip(rows, Y[SECOND], strict=True) if k == 6} == before
    assert {row["class"] for row, k in zip(rows, Y[SECOND], strict=True) if k > 6} == {"new 3", "new 4"}


def test_predict_says_new_of_classes_that_nobody_has_seen(folder: Path, run: Run) -> None:
    result = run("predict", folder / "run", folder / "second.npz", "--out", folder / "predicted.csv")
    assert result.exit_code == 0, result.output
    rows = read_rows(folder / "predicted.csv")
    unseen = [row for row, k in zip(rows, Y[SECOND], strict=True) if k > 6]
    far = [row["class"] for row, k in zip(rows, Y[SECOND], strict=True) if k == 8]
    assert np.mean([name == "new" for name in far]) > 0.9
    assert min(float(row["new"]) for row in unseen) > max(
        float(row["new"]) for row, k in zip(rows, Y[SECOND], strict=True) if k == 6
    )


def test_the_report_has_new_classes_beside_known_ones(folder: Path, run: Run) -> None:
    result = run("report", folder / "run", "--out", folder / "report.html")
    assert result.exit_code == 0, result.output
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Known and new" in page
    assert "The nearest known class" in page


def test_answers_about_the_pile(folder: Path, run: Run) -> None:
    """Both new classes are one, as only the answers say."""
    truth = np.minimum(Y[FIRST], 5)
    pairs = np.random.default_rng(0).integers(len(truth), size=(2000, 2))
    told = [(i, j, int(truth[i] == truth[j])) for i, j in pairs if i != j]
    answers = write_rows(folder / "answers.csv", ["left", "right", "same"], told)
    given = ("--known", folder / "known.npz", "--unknown", folder / "first.npz", "--mixed", "--epochs", 1)
    result = run("discover", *given, "--classes", 6, "--pairs", answers, "--out", folder / "answered")
    assert result.exit_code == 0, result.output
    found = np.array([row["class"] for row in read_rows(folder / "answered" / "classes.csv")])
    assert set(found[truth == 5]) == {"new 1"}
    np.testing.assert_array_equal(found[truth < 5], NAMES[truth[truth < 5]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--more", "run", "--known", "known.npz"), "--known and --more are given; --more needs nothing beside it"),
        (("--more", "run", "--grouped"), "--grouped is for learning a similarity, and --more has one"),
        (("--more", "known.npz"), "known.npz holds no discovered classes"),
        (("--known", "known.npz", "--mixed", "--classes", "3"), "n_classes is 3, but 5 classes are known"),
    ],
)
def test_refused(options: tuple[str, ...], message: str, folder: Path, run: Run) -> None:
    given = [folder / option if option in ("run", "known.npz") else option for option in options]
    result = run("discover", *given, "--unknown", folder / "first.npz", "--out", folder / "refused")
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_mixed_pile_that_is_taken_for_new_is_warned_of(folder: Path, run: Run) -> None:
    given = ("--known", folder / "known.npz", "--unknown", folder / "first.npz", "--epochs", 1)
    result = run("discover", *given, "--out", folder / "unmixed")
    assert "of the pile look like known classes; use --mixed" in result.stderr
