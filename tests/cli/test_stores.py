"""A store is an answers file for every command; `likewise answers` copies between the two."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from likewise.pairs import Pairs
from likewise.pairs.store import Event, create_store

Run = Callable[..., Any]


@pytest.fixture
def store(blobs: Path, run: Run) -> Path:
    """The answers about the blobs, in a store."""
    result = run("answers", "import", blobs / "answers.csv", "--store", blobs / "answers.db", "--annotator", "ann")
    assert result.exit_code == 0, result.output
    return blobs / "answers.db"


def test_answers_go_into_a_store_once_and_come_out_as_they_were(blobs: Path, store: Path, run: Run) -> None:
    again = run("answers", "import", blobs / "answers.csv", "--store", store, "--annotator", "ann")
    assert again.output == f"Added 0 answers to {store}; 240 were there already.\n"
    for name in ("out.csv", "out.parquet"):
        result = run("answers", "export", store, "--out", blobs / name)
        assert (result.exit_code, result.output) == (0, f"Wrote {blobs / name}: 240 answers.\n")
        before, after = Pairs.read(blobs / "answers.csv"), Pairs.read(blobs / name)
        for pairs in (before, after):
            assert len(pairs) == 240
        assert said(before) == said(after)
        assert after.annotators == ("ann",)


def said(pairs: Pairs) -> list[tuple[str, str, float]]:
    rows = zip(pairs.left.tolist(), pairs.right.tolist(), pairs.same.tolist(), strict=True)
    return [(pairs.name(left), pairs.name(right), same) for left, right, same in rows]


def test_annotators_of_a_file_are_kept(tmp_path: Path, run: Run, write_rows: Callable[..., Path]) -> None:
    rows = (("a", "b", 1, "ann"), ("a", "b", 0, "bob"), ("b", "c", 1, ""))
    file = write_rows(tmp_path / "answers.csv", ("left", "right", "same", "annotator"), *rows)
    assert run("answers", "import", file, "--store", tmp_path / "a.db").exit_code == 0
    result = run("answers", "export", tmp_path / "a.db", "--out", tmp_path / "out.csv")
    assert "3 answers by 3 people" in result.output
    with (tmp_path / "out.csv").open(encoding="utf-8") as out:
        assert [row["annotator"] for row in csv.DictReader(out)] == ["ann", "bob", "import"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("left,right,same\na,b,0.5\n", "line 2: same is 0.5, and a store keeps 1 and 0 alone"),
        ("left,right,same\n", "holds no answers"),
    ],
)
def test_what_a_store_cannot_keep_is_refused(tmp_path: Path, run: Run, content: str, sentence: str) -> None:
    (tmp_path / "answers.csv").write_text(content, encoding="utf-8")
    result = run("answers", "import", tmp_path / "answers.csv", "--store", tmp_path / "a.db")
    assert result.exit_code == 2
    assert sentence in result.output
    assert not (tmp_path / "a.db").exists()


def test_export_wants_a_store(blobs: Path, run: Run) -> None:
    result = run("answers", "export", blobs / "answers.csv", "--out", blobs / "out.csv")
    assert (result.exit_code, "is not a store of answers" in result.output) == (2, True)
    result = run("answers", "export", blobs / "missing.db", "--out", blobs / "out.csv")
    assert (result.exit_code, "does not exist" in result.output) == (2, True)
    assert not (blobs / "out.csv").exists()


def test_fit_learns_from_a_store_as_from_a_file(blobs: Path, store: Path, run: Run, fit_blobs: Run) -> None:
    options = ("--classes", 4, "--epochs", 3, "--batch-size", 30)
    first = run("fit", blobs / "blobs.csv", "--pairs", store, *options, "--out", blobs / "from-store")
    assert first.exit_code == 0, first.output
    fit = json.loads((blobs / "from-store" / "fit.json").read_text(encoding="utf-8"))
    assert (fit["source"], fit["unit"]) == (str(store), "event")
    again = run("fit", blobs / "blobs.csv", "--pairs", store, *options, "--out", blobs / "from-store")
    assert "is finished" in again.output
    report = run("report", blobs / "from-store")
    assert report.exit_code == 0, report.output
    with create_store(store) as opened:
        opened.append([Event("new", "ann", "b00", "b01", "not sure")])
        unsure = run("fit", blobs / "blobs.csv", "--pairs", store, *options, "--out", blobs / "from-store")
        assert "is finished" in unsure.output  # nothing to learn from was added
        answered = {event.pair for event in opened.events()}
        names = [f"b{row:02}" for row in range(60)]
        pair = next(pair for pair in combinations(names, 2) if pair not in answered)
        opened.append([Event("more", "ann", *pair, "different")])
    other = run("fit", blobs / "blobs.csv", "--pairs", store, *options, "--out", blobs / "from-store")
    assert other.exit_code == 2
    assert "begun with other answers" in other.output


def test_check_and_cluster_read_a_store(blobs: Path, store: Path, run: Run) -> None:
    checked = run("check", store, "--json")
    assert checked.exit_code == 0, checked.output
    assert json.loads(checked.stdout)["answers"] == 240
    options = ("--method", "pck-means", "--classes", 3, "--out", blobs / "clusters.csv")
    clustered = run("cluster", blobs / "blobs.csv", "--pairs", store, *options)
    assert clustered.exit_code == 0, clustered.output
    assert "of 240 answers" in clustered.output


@pytest.mark.parametrize("command", ["check", "fit", "cluster"])
def test_a_store_that_is_not_ours_is_refused_by_every_command(blobs: Path, run: Run, command: str) -> None:
    (blobs / "other.db").write_bytes(b"not a database at all")
    before = {path.name for path in blobs.iterdir()}
    arguments = {
        "check": ("check", blobs / "other.db"),
        "fit": ("fit", blobs / "blobs.csv", "--pairs", blobs / "other.db", "--out", blobs / "new"),
        "cluster": (
            *("cluster", blobs / "blobs.csv", "--pairs", blobs / "other.db"),
            *("--method", "pck-means", "--classes", 3, "--out", blobs / "new.csv"),
        ),
    }[command]
    result = run(*arguments)
    assert result.exit_code == 2
    assert "is not a store of answers" in result.output
    assert {path.name for path in blobs.iterdir()} == before
