"""`likewise landscape`: runs with labels and runs of fit, one solution or three, in parts, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from likewise.datasets import load
from likewise.landscape import Surface
from likewise.networks import build
from likewise.training import Settings, train_labelled

Run = Callable[..., Any]
SMALL = ("--grid", 3, "--n-items", 20, "--batch-size", 10)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An MLP that saw forty digits."""
    run = tmp_path_factory.mktemp("runs") / "digits-ce"
    data = load("digits")
    network = build("mlp", 10, tuple(data.train.inputs.shape[1:]), seed=0)
    settings = Settings(epochs=1, batch_size=20, precision="float32", device="cpu")
    config = {"dataset": "digits", "network": "mlp", "criterion": "ce"}
    train_labelled(
        network, data.train.subset(torch.arange(40)), data, nn.CrossEntropyLoss(), settings, run=run, config=config
    )
    return run


def test_a_run_becomes_a_file_and_pictures(run: Run, trained: Path, tmp_path: Path) -> None:
    out, pictures = tmp_path / "s.npz", [tmp_path / "s.png", tmp_path / "s.html"]
    command = ("landscape", trained, *SMALL, "--out", out, "--plot", pictures[0], "--plot", pictures[1])
    ran = run(*command)
    assert ran.exit_code == 0, ran.output
    surface = Surface.load(out)
    assert (surface.losses, surface.values.shape) == (("mcl", "kcl", "ce"), (3, 3, 3))
    assert surface.alpha.tolist() == [-1.0, 0.0, 1.0]
    for loss in surface.losses:
        line = next(line for line in ran.output.splitlines() if line.startswith(loss.upper()))
        assert float(line.split()[1]) == pytest.approx(float(surface[loss].min()), rel=1e-3)
    assert all(path.stat().st_size > 1000 for path in pictures)
    again = run(*command)
    assert "rows" not in again.output  # it was read, not computed
    assert again.exit_code == 0


def test_three_solutions_and_parts(run: Run, trained: Path, tmp_path: Path) -> None:
    others = [Path(shutil.copytree(trained, tmp_path / name)) for name in ("two", "three")]
    out = tmp_path / "s.npz"
    command = ("landscape", trained, "--mutual", *others, *SMALL, "--loss", "mcl", "--out", out)
    first = run(*command, "--part", "1/2")
    assert first.exit_code == 0, first.output
    assert f"Part 1/2 is done; {out} is written when all parts are." in first.output
    assert not out.exists()
    second = run(*command, "--part", "2/2")
    assert f"Wrote {out}." in second.output
    surface = Surface.load(out)
    assert surface.about["runs"] == ["digits-ce", "two", "three"]
    assert surface.alpha.tolist() == [-0.5, 0.5, 1.5]
    assert np.ptp(surface["mcl"]) < 1e-6  # three times the same solution


def test_a_fit_is_seen_through_its_answers(run: Run, blobs: Path) -> None:
    out = blobs / "s.npz"
    ran = run("landscape", blobs / "run", *SMALL, "--loss", "mcl,kcl", "--out", out)
    assert ran.exit_code == 0, ran.output
    surface = Surface.load(out)
    assert surface.losses == ("mcl", "kcl")
    assert surface["mcl"][1, 1] < surface["mcl"].max()
    refused = run("landscape", blobs / "run", *SMALL, "--out", blobs / "t.npz")
    assert refused.exit_code == 2
    assert "ce needs class labels" in refused.output


def test_a_linear_network_on_vectors_of_unit_length(run: Run, blobs: Path, fit_blobs: Run) -> None:
    fit_blobs(blobs, blobs / "unit", "--network", "linear", "--unit-length")
    ran = run("landscape", blobs / "unit", *SMALL, "--loss", "mcl", "--out", blobs / "s.npz")
    assert ran.exit_code == 0, ran.output
    table = np.genfromtxt(blobs / "blobs.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
    longer = [(name, 7 * x, 7 * y) for name, x, y in table.tolist()]
    np.savetxt(blobs / "longer.csv", longer, fmt="%s", delimiter=",", header="id,width,height", comments="")
    again = ("--items", blobs / "longer.csv", "--out", blobs / "t.npz")
    assert run("landscape", blobs / "unit", *SMALL, "--loss", "mcl", *again).exit_code == 0
    surface = Surface.load(blobs / "s.npz")
    assert surface.about["network"] == "linear"
    np.testing.assert_allclose(surface["mcl"], Surface.load(blobs / "t.npz")["mcl"], rtol=1e-4)
    assert np.ptp(surface["mcl"]) > 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--grid", 1), "Invalid value for '--grid'"),
        (("--loss", "hinge"), "There is no loss called 'hinge'"),
        (("--loss", ","), "No loss is given"),
        (("--range", "wide"), "--range must be a number, or two with a comma"),
        (("--range", "1,-1"), "from a number to a larger one"),
        (("--part", "3/2"), "K/N"),
        (("--plot", "s.gif"), "must end in .png or .svg or .pdf or .html"),
    ],
)
def test_what_is_refused_in_one_sentence(
    options: tuple[object, ...], message: str, run: Run, trained: Path, tmp_path: Path
) -> None:
    refused = run("landscape", trained, *SMALL, *options, "--out", tmp_path / "s.npz")
    assert refused.exit_code == 2
    assert message in refused.output
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_no_run_is_refused(run: Run, tmp_path: Path) -> None:
    refused = run("landscape", tmp_path, "--out", tmp_path / "s.npz")
    assert refused.exit_code == 2
    assert "is not a run: config.json is missing" in refused.output
