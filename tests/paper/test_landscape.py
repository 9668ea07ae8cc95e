"""The paper's Figure 4: four surfaces from three runs, their record, and the section with its figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from likewise.datasets import DataSet, Items
from likewise.errors import InputError
from likewise.landscape import Surface, rank_correlation, share_below
from likewise.networks import build
from likewise.paper import landscape
from likewise.paper.landscape import (
    LandscapeRecord,
    draw_landscape,
    figure_path,
    landscape_figures,
    landscape_section,
    surface_path,
)
from likewise.paper.records import write_record
from likewise.paper.table1_entries import recipes, select
from likewise.training import Settings, train_labelled

SMALL = {"dataset": "mnist", "network": "lenet", "epochs": 1, "grid": 3, "items": 20}


def images(n: int) -> Items:
    labels = torch.arange(n) % 10
    pixels = torch.zeros(n, 1, 28, 28, dtype=torch.uint8)
    pixels[torch.arange(n), 0, 2 * labels + 4] = 255
    return Items(pixels, labels, tuple("0123456789"))


@pytest.fixture(scope="module")
def data() -> DataSet:
    return DataSet("mnist", images(40), images(20), (0.1,), (0.3,))


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, data: DataSet) -> Path:
    """Three runs in their places, as `likewise paper table1 --epochs 1` names them, from different first weights."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, entry in enumerate(select(recipes(), dataset="mnist", network="lenet", epochs=1)):
        settings = Settings(epochs=1, batch_size=20, precision="float32", device="cpu")
        config = {"dataset": "mnist", "network": "lenet", "criterion": entry.criterion}
        network = build("lenet", 10, (1, 28, 28), seed=seed)
        run = folder / "table1" / entry.name
        train_labelled(network, data.train, data, nn.CrossEntropyLoss(), settings, run=run, config=config)
    return folder


@pytest.fixture
def record(runs: Path, data: DataSet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandscapeRecord:
    monkeypatch.setattr("likewise.landscape.compute.load", lambda name, folder: data)
    made, path, ran = landscape.run_landscape(**SMALL, runs=runs, results=tmp_path)
    assert ran
    assert path == tmp_path / "landscape" / "mnist-lenet-seed0-1ep-3x3-20items.json"
    return made


def test_each_loss_around_its_own_solution_and_all_between(record: LandscapeRecord, tmp_path: Path) -> None:
    surfaces = {
        which: Surface.load(surface_path(tmp_path, record.name, which))
        for which in ("random-ce", "random-mcl", "random-kcl", "mutual")
    }
    for loss in ("ce", "mcl", "kcl"):
        assert surfaces[f"random-{loss}"].about["runs"] == [f"mnist-lenet-{loss}-seed0-1ep"]
    assert surfaces["mutual"].about["runs"] == [f"mnist-lenet-{loss}-seed0-1ep" for loss in ("mcl", "ce", "kcl")]
    mcl, ce = surfaces["random-mcl"], surfaces["random-ce"]
    found = record.random["mcl"]
    assert found["below_half"] == pytest.approx(share_below(mcl["mcl"], mcl.chance["mcl"] / 2), rel=1e-4)
    assert found["rank_correlation"] == pytest.approx(rank_correlation(mcl["mcl"], ce["ce"]), rel=1e-4)
    plane = surfaces["mutual"]
    wanted = rank_correlation(plane["kcl"], plane["ce"])
    assert record.mutual["kcl"]["rank_correlation"] == pytest.approx(wanted, rel=1e-4)
    assert record.cpu_seconds > 0
    assert record.command == (
        "likewise paper landscape --dataset mnist --network lenet --seed 0 --epochs 1 --grid 3 --n-items 20"
    )


def test_what_has_a_record_is_not_computed_again(
    record: LandscapeRecord, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landscape, "loss_surface", None)
    again, _, ran = landscape.run_landscape(**SMALL, runs=runs, results=tmp_path)
    assert not ran
    assert again == record


def test_runs_that_are_missing_are_named_with_their_command(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run `likewise paper table1 .*--criterion ce --seed 0 --epochs 1 --runs"):
        landscape.run_landscape(**SMALL, runs=tmp_path, results=tmp_path)


@pytest.fixture
def example() -> LandscapeRecord:
    low = {"lowest": 0.001, "highest": 4.2, "chance": 2.3026, "below_half": 0.5, "below_tenth": 0.125, "gaps": 0.0}
    losses = {
        "ce": {**low, "rank_correlation": 1.0},
        "mcl": {**low, "rank_correlation": 0.987654},
        "kcl": {**low, "rank_correlation": 0.5, "gaps": 3.0},
    }
    return LandscapeRecord(
        table="landscape",
        dataset="mnist",
        network="lenet",
        epochs=30,
        seed=0,
        grid=91,
        items=1000,
        settings={"precision": "float32"},
        random=losses,
        mutual=losses,
        cpu_seconds=6000.0,
        command="likewise paper landscape",
        likewise="0.1.0",
        torch="2.13.0",
        cpu="A Processor",
        threads=2,
    )


def test_the_section_says_the_numbers(example: LandscapeRecord, tmp_path: Path) -> None:
    assert "No surface is recorded yet" in landscape_section(tmp_path)
    write_record(tmp_path, example)
    section = landscape_section(tmp_path)
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    assert rows[3] == "| around | MCL | 0.001 | 4.2 | 2.303 | 50.0 % | 12.5 % | 0.988 | 0 |"
    assert rows[7] == "| between | KCL | 0.001 | 4.2 | 2.303 | 50.0 % | 12.5 % | 0.500 | 3 |"
    assert "91 x 91 points, 1,000 items, runs of 30 epochs, seed 0, 100.0 core-minutes" in section
    assert "![" not in section  # there are no surfaces beside the record
    assert landscape_figures(tmp_path) == {}


def test_figures_are_drawn_from_the_surfaces_beside_the_record(example: LandscapeRecord, tmp_path: Path) -> None:
    write_record(tmp_path, example)
    axis = np.linspace(-1, 1, 3)
    values = np.random.default_rng(0).random((3, 3, 3)).astype(np.float32)
    surface = Surface(axis, axis, ("ce", "mcl", "kcl"), values, dict.fromkeys(("ce", "mcl", "kcl"), 1.0), {})
    for loss in ("ce", "mcl", "kcl"):
        surface.save(surface_path(tmp_path, example.name, f"random-{loss}"))
    path = figure_path(example, "random")
    assert landscape_figures(tmp_path) == {path: (example, "random")}
    assert f"]({path})" in landscape_section(tmp_path)
    drawn = draw_landscape(tmp_path, example, "random")
    assert drawn.startswith(b"\x89PNG")
    surface = replace(surface, values=1 - values)
    surface.save(surface_path(tmp_path, example.name, "random-mcl"))
    assert draw_landscape(tmp_path, example, "random") != drawn
