"""`likewise cluster`, as typed: clusters of items, from any kind of file, and what it refuses."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from sklearn.metrics import adjusted_rand_score

from likewise.clustering import METHODS

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


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory, write_rows: Run) -> Path:
    """Three blobs that lie behind one another: the first feature tells them apart, the second is wide."""
    folder = tmp_path_factory.mktemp("cluster")
    random = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = np.stack([4 * y + random.normal(size=45) / 4, 20 * random.random(45)], axis=1)
    names = [f"b{row:02}" for row in range(45)]
    write_rows(folder / "items.csv", ("id", "width", "height"), *zip(names, X[:, 0], X[:, 1], strict=True))
    np.save(folder / "items.npy", X)
    np.save(folder / "truth.npy", y)
    drawn = {tuple(sorted(pair)) for pair in random.integers(45, size=(400, 2)).tolist() if pair[0] != pair[1]}
    pairs = [(names[i], names[j], int(y[i] == y[j])) for i, j in sorted(drawn)]
    write_rows(folder / "answers.csv", ("left", "right", "same"), *pairs)
    write_rows(folder / "wrong.csv", ("left", "right", "same"), *pairs, ("b00", "b01", 1))
    return folder


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].uses_pairs])
def test_every_method_finds_what_the_answers_say(table: Path, run: Run, method: str, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    arguments = ("--pairs", table / "answers.csv", "--classes", 3, "--out", out)
    result = run("cluster", table / "items.csv", "--method", method, *arguments)
    assert result.exit_code == 0, result.output
    found = rows(out)
    assert [row["id"] for row in found] == [f"b{row:02}" for row in range(45)]
    labels = np.array([int(row["cluster"]) for row in found])
    assert adjusted_rand_score(np.load(table / "truth.npy"), labels) > 0.9
    assert f"Wrote {out}: 45 items in {len(set(labels))} clusters." in result.stdout


def test_k_means_needs_no_answers_and_says_so(table: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    alone = run("cluster", table / "items.csv", "--method", "k-means", "--classes", 3, "--out", out)
    assert alone.exit_code == 0, alone.output
    assert len(alone.stdout.splitlines()) == 1
    before = rows(out)
    arguments = ("--pairs", table / "answers.csv", "--classes", 3, "--out", out)
    counted = run("cluster", table / "items.csv", "--method", "k-means", *arguments)
    assert "does not use answers" in counted.stderr
    assert rows(out) == before


def test_it_counts_the_answers_it_agrees_with(table: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    arguments = ("--classes", 3, "--out", out, "--pairs", table / "wrong.csv")
    result = run("cluster", table / "items.csv", "--method", "pck-means", *arguments, "--set", "weight=5")
    assert result.exit_code == 0, result.output
    cluster = {row["id"]: row["cluster"] for row in rows(out)}
    answers = rows(table / "wrong.csv")
    kept = sum((cluster[row["left"]] == cluster[row["right"]]) == (row["same"] == "1") for row in answers)
    assert kept == len(answers) - 1
    assert f"They agree with {kept} of {len(answers)} answers (99." in result.stdout


def test_parquet_and_row_numbers(table: Path, run: Run, tmp_path: Path, write_rows: Run) -> None:
    numbered = write_rows(tmp_path / "n.csv", ("left", "right", "same"), (0, 3, 1), (0, 1, 0), (1, 2, 0), (0, 2, 0))
    arguments = ("--pairs", numbered, "--classes", 3, "--out", tmp_path / "labels.parquet")
    result = run("cluster", table / "items.npy", "--method", "pck-means", *arguments)
    assert result.exit_code == 0, result.output
    found = pyarrow.parquet.read_table(tmp_path / "labels.parquet")
    assert found.schema.names == ["id", "cluster"]
    assert found.schema.types == [pa.int64(), pa.int64()]
    assert found["id"].to_pylist() == list(range(45))


def test_images_are_their_pixels(tmp_path: Path, run: Run, write_rows: Run) -> None:
    (tmp_path / "photos").mkdir()
    for name, light in (("a", 10), ("b", 20), ("c", 220), ("d", 240)):
        Image.fromarray(np.full((8, 8), light, dtype=np.uint8)).save(tmp_path / "photos" / f"{name}.png")
    (tmp_path / "photos" / "e.png").write_bytes(b"no picture")
    told = (("a.png", "b.png", 0), ("a.png", "e.png", 1))
    answers = write_rows(tmp_path / "answers.csv", ("left", "right", "same"), *told)
    arguments = ("--classes", 2, "--size", 4, "--grey", "--out", tmp_path / "labels.csv", "--pairs", answers)
    result = run("cluster", tmp_path / "photos", "--method", "cop-k-means", *arguments)
    assert result.exit_code == 0, result.output
    assert "e.png" in result.stderr
    cluster = {row["id"]: row["cluster"] for row in rows(tmp_path / "labels.csv")}
    assert sorted(cluster) == ["a.png", "b.png", "c.png", "d.png"]
    assert cluster["a.png"] != cluster["b.png"]  # though they are nearly alike
    assert cluster["b.png"] == cluster["c.png"] == cluster["d.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "itml", "--pairs", "answers.csv"), "itml needs the number of classes"),
        (("--method", "itml", "--classes", 3), "itml learns from answers; give --pairs."),
        (("--method", "k-means", "--classes", 46), "n_clusters is 46, but X has 45 items"),
        (("--method", "k-means", "--classes", 3, "--set", "speed=9"), "k-means has no argument 'speed=9'"),
        (
            ("--method", "k-means", "--classes", 3, "--set", "n_init=lots"),
            "n_init of KMeans must be a whole number from 1, got 'lots'.",
        ),
        (
            ("--method", "k-means", "--classes", 3, "--contradictions", "repair"),
            "k-means has no argument 'contradictions=repair'",
        ),
        (
            ("--method", "cop-k-means", "--classes", 3, "--pairs", "wrong.csv"),
            "The answers contradict one another: b00=b01",
        ),
        (("--method", "cop-k-means", "--classes", 2, "--pairs", "answers.csv"), "No assignment to 2 clusters keeps"),
        (
            ("--method", "mpck-means", "--classes", 3, "--pairs", "answers.csv", "--set", "metric=round"),
            "metric of MPCKMeans must be 'diagonal' or 'full', got 'round'.",
        ),
    ],
)
def test_refusals(table: Path, run: Run, arguments: tuple[object, ...], message: str, tmp_path: Path) -> None:
    files = [table / str(word) if str(word).endswith(".csv") else word for word in arguments]
    out = tmp_path / "labels.csv"
    refuse(run("cluster", table / "items.csv", *files, "--out", out), message, out)


@pytest.mark.parametrize(
    ("method", "setting", "message"),
    [
        ("k-means", "n_init=0", "n_init of KMeans must be a whole number from 1, got 0."),
        ("cecm", "max_iter=0", "max_iter of CECM must be a whole number from 1, got 0."),
        ("itml", "bounds=5", "bounds of ITML must be two numbers above 0, or None, got 5."),
        ("mmc", "random_state=-1", "random_state of MMC must be a whole number from 0 to 4294967295, "),
        ("pck-means", "weight=-1", "weight of PCKMeans must be a number of 0 or more, got -1."),
        *(
            (method, f"{name}=[]", f"{name} of {kind.__name__} must be ")
            for method, kind in METHODS.items()
            for name in kind().get_params()
        ),
    ],
)
def test_a_hyperparameter_that_cannot_be(
    table: Path, run: Run, method: str, setting: str, message: str, tmp_path: Path
) -> None:
    out = tmp_path / "labels.csv"
    answers = ("--pairs", table / "answers.csv") if METHODS[method].uses_pairs else ()
    arguments = ("--method", method, "--classes", 3, "--set", setting, "--out", out)
    refuse(run("cluster", table / "items.csv", *answers, *arguments), message, out)


def test_csp_told_only_same(table: Path, run: Run, write_rows: Run, tmp_path: Path) -> None:
    same = [(i, j, 1) for i in range(45) for j in range(i)]
    answers = write_rows(tmp_path / "same.csv", ("left", "right", "same"), *same)
    out = tmp_path / "labels.csv"
    arguments = ("--method", "csp", "--classes", 3, "--pairs", answers, "--out", out)
    refuse(run("cluster", table / "items.npy", *arguments), "leave no cut into 3 clusters", out)


def test_contradictions_are_repaired_when_asked(table: Path, run: Run, tmp_path: Path) -> None:
    out = tmp_path / "labels.csv"
    arguments = ("--pairs", table / "wrong.csv", "--classes", 3, "--contradictions", "repair", "--out", out)
    result = run("cluster", table / "items.csv", "--method", "cop-k-means", *arguments)
    assert result.exit_code == 0, result.output
    assert "1 of" in result.stderr
    assert (
        adjusted_rand_score(np.load(table / "truth.npy"), np.array([int(row["cluster"]) for row in rows(out)])) == 1.0
    )


def test_what_is_read_is_not_overwritten(table: Path, run: Run) -> None:
    before = (table / "items.csv").read_bytes()
    result = run("cluster", table / "items.csv", "--method", "k-means", "--classes", 3, "--out", table / "items.csv")
    assert result.exit_code == 2
    assert (table / "items.csv").read_bytes() == before
