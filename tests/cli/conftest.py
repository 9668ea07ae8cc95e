"""Two tiny runs to try the commands on: blobs in a table, and pictures in a folder of which one is broken."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import make_blobs
from typer.testing import CliRunner

from likewise.cli import app
from likewise.pairs import Pairs

Run = Callable[..., Any]
Few = Callable[[], AbstractContextManager[None]]

KINDS = ("ant", "bee", "cat")
BLOBS = ("--classes", 4, "--epochs", 3, "--batch-size", 30)
PHOTOS = ("--classes", 3, "--epochs", 2, "--batch-size", 30, "--size", 8, "--grey", "--no-unlabelled")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def write_rows(path: Path, *rows: tuple[object, ...]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


def write_answers(path: Path, names: list[str], labels: np.ndarray, n: int) -> Path:
    pairs = Pairs.from_labels(labels, n=n)
    rows = zip(pairs.left, pairs.right, pairs.same, strict=True)
    return write_rows(
        path, ("left", "right", "same"), *((names[left], names[right], int(same)) for left, right, same in rows)
    )


@pytest.fixture(scope="module", autouse=True)
def _few_candidates(few_candidates: Few) -> Iterator[None]:
    with few_candidates():
        yield


@pytest.fixture(name="run", scope="session")
def run_fixture() -> Run:
    """Type `likewise ...`."""
    return run


@pytest.fixture(name="write_rows", scope="session")
def write_rows_fixture() -> Callable[..., Path]:
    return write_rows


@pytest.fixture(scope="session")
def fit_blobs() -> Run:
    """Type `likewise fit` for the files in a folder of blobs, as its run was made; what is given further comes last."""
    return lambda folder, out, *further: run(
        "fit", folder / "blobs.csv", "--pairs", folder / "answers.csv", *BLOBS, "--out", out, *further
    )


@pytest.fixture(scope="session")
def fit_photos() -> Run:
    return lambda folder, out, *further: run(
        "fit", folder / "photos", "--pairs", folder / "answers.csv", *PHOTOS, "--out", out, *further
    )


@pytest.fixture(scope="session")
def _blobs(tmp_path_factory: pytest.TempPathFactory, fit_blobs: Run, few_candidates: Few) -> Path:
    folder = tmp_path_factory.mktemp("blobs")
    X, y = make_blobs(60, centers=[(0, 0), (9, 0), (0, 9)], cluster_std=0.4, random_state=0)
    names = [f"b{row:02}" for row in range(60)]
    rows = zip(names, X[:, 0], X[:, 1], strict=True)
    write_rows(folder / "blobs.csv", ("id", "width", "height"), *rows)
    np.save(folder / "blobs.npy", X)
    write_answers(folder / "answers.csv", names, y, 240)
    write_rows(folder / "few.csv", ("id", "label"), *((names[row], KINDS[y[row]]) for row in range(12)))
    np.save(folder / "truth.npy", y)
    with few_candidates():
        result = fit_blobs(folder, folder / "run")
    assert result.exit_code == 0, result.output
    (folder / "printed.txt").write_text(result.stdout)
    return folder


@pytest.fixture(scope="session")
def _photos(tmp_path_factory: pytest.TempPathFactory, fit_photos: Run, few_candidates: Few) -> Path:
    """40 pictures of three kinds: light above, light below, light on the left."""
    folder = tmp_path_factory.mktemp("photos")
    random = np.random.default_rng(0)
    y = np.arange(40) % 3
    (folder / "photos" / "more").mkdir(parents=True)
    names = [f"{'more/' if row % 2 else ''}p{row:02}.png" for row in range(40)]
    for name, kind in zip(names, y, strict=True):
        pixels = random.integers(0, 60, (8, 8))
        pixels[(slice(4), slice(4, 8), slice(None))[kind], slice(4) if kind == 2 else slice(None)] += 180
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "photos" / name)
    (folder / "photos" / "p00.png").write_bytes(b"no picture")
    write_answers(folder / "answers.csv", names, y, 200)
    write_rows(folder / "few.csv", ("id", "label"), *((names[row], KINDS[y[row]]) for row in range(1, 10)))
    with few_candidates():
        result = fit_photos(folder, folder / "run")
    assert result.exit_code == 0, result.output
    (folder / "said.txt").write_text(result.stderr)
    return folder


@pytest.fixture
def blobs(_blobs: Path, tmp_path: Path) -> Path:
    """A copy of: blobs.csv, blobs.npy, answers.csv, few.csv, truth.npy, run/ (fitted to the table), printed.txt."""
    return Path(shutil.copytree(_blobs, tmp_path / "blobs"))


@pytest.fixture
def photos(_photos: Path, tmp_path: Path) -> Path:
    """A copy of: photos/, in which p00.png is broken, answers.csv, few.csv, run/, said.txt (on stderr)."""
    return Path(shutil.copytree(_photos, tmp_path / "photos"))
