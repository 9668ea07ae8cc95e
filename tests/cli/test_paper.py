"""`likewise paper`: a run on a tiny MNIST on disk, the page, its check, and what is refused."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.cli.paper import app
from likewise.errors import InputError


def write_idx(path: Path, array: np.ndarray) -> None:
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    path.write_bytes(header + array.astype(np.uint8).tobytes())


@pytest.fixture
def tiny_mnist(tmp_path: Path) -> Path:
    """Ten classes of images, each with a bright band of its own."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for split, n in (("train", 40), ("t10k", 20)):
        labels = np.arange(n) % 10
        images = np.zeros((n, 28, 28))
        for image, label in zip(images, labels, strict=True):
            image[4 + 2 * label : 6 + 2 * label] = 255
        write_idx(folder / f"{split}-images-idx3-ubyte", images)
        write_idx(folder / f"{split}-labels-idx1-ubyte", labels)
    return folder.parent


def test_run_record_and_page(tiny_mnist: Path, tmp_path: Path) -> None:
    places = ["--results", str(tmp_path / "results")]
    options = ["--dataset", "mnist", "--network", "lenet", "--criterion", "mcl", "--epochs", "1", "--seed", "3"]
    folders = ["--data", str(tiny_mnist), "--runs", str(tmp_path / "runs"), *places]
    ran = CliRunner().invoke(app, ["table1", *options, *folders])
    assert ran.exception is None, ran.output
    assert ran.output.startswith("Table 1, 1 entry:\n  mnist-lenet-mcl-seed3-1ep (paper: 0.6 % in 30 epochs)\n")
    record = json.loads((tmp_path / "results" / "table1" / "mnist-lenet-mcl-seed3-1ep.json").read_text())
    assert (record["epochs"], record["paper_epochs"], record["drops"]) == (1, 30, [])
    command = "likewise paper table1 --dataset mnist --network lenet --criterion mcl --seed 3 --epochs 1"
    assert record["command"] == command

    page = tmp_path / "RESULTS.md"
    show = ["show", *places, "--out", str(page)]
    assert CliRunner().invoke(app, [*show, "--check"]).exit_code == 1
    assert not page.exists()
    assert CliRunner().invoke(app, show).exit_code == 0
    assert f"`{command}`" in page.read_text()
    assert CliRunner().invoke(app, [*show, "--check"]).exit_code == 0
    page.write_text(page.read_text() + "edited by hand\n")
    out_of_date = CliRunner().invoke(app, [*show, "--check"])
    assert out_of_date.exit_code == 1
    assert "out of date" in out_of_date.output


def test_what_cannot_be_run_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    folders = ["--data", str(tmp_path), "--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    wrong_name = CliRunner().invoke(app, ["table1", "--network", "vgg9", *folders])
    assert wrong_name.exit_code == 2
    no_data = CliRunner().invoke(app, ["table1", "--dataset", "mnist", *folders])
    assert isinstance(no_data.exception, InputError)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_command_does_not_import_torch() -> None:
    code = "import sys, likewise.cli.paper; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_records_that_are_not_there_leave_the_page_as_it_is(tmp_path: Path) -> None:
    page = tmp_path / "RESULTS.md"
    page.write_text("as it was")
    refused = CliRunner().invoke(app, ["show", "--results", str(tmp_path / "no"), "--out", str(page)])
    assert isinstance(refused.exception, InputError)
    assert "give --results the folder of the records" in str(refused.exception)
    assert page.read_text() == "as it was"
