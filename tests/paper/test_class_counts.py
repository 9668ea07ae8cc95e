"""`likewise paper counts`: piles drawn from a small file in the same format, the record and the section."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.cli import app
from likewise.errors import InputError
from likewise.paper.class_counts import counts_section, draw_problem, read_features, select_counts


@pytest.fixture
def data(tmp_path: Path) -> Path:
    random, y = np.random.default_rng(0), np.repeat(np.arange(12), 20)
    x = random.normal(size=(12, 16))[y] + 0.2 * random.normal(size=(240, 16))
    np.savez(tmp_path / "photos-lite0.npz", X=x.astype(np.float16), y=y)
    return tmp_path


def test_half_of_the_items_of_known_classes_are_in_a_mixed_pile(data: Path) -> None:
    x, y = read_features("photos", data)
    for seed in range(5):
        new, mixed = (draw_problem(x, y, kind, np.random.default_rng(seed)) for kind in ("new", "mixed"))  # type: ignore[arg-type]
        assert 4 <= new.n_known <= 8
        assert 3 <= new.n_new <= 12 - new.n_known
        assert (len(new.known), len(new.pile)) == (20 * new.n_known, 20 * new.n_new)
        assert (len(mixed.known), len(mixed.pile)) == (10 * mixed.n_known, 10 * mixed.n_known + 20 * mixed.n_new)
        assert len(np.unique(mixed.known_y)) == mixed.n_known


def test_the_record_and_the_section(data: Path, tmp_path: Path) -> None:
    results = tmp_path / "results"
    assert "Nothing is recorded yet" in counts_section(results)
    given = ["paper", "counts", "--dataset", "photos", "--kind", "mixed", "--piles", "2"]
    command = [*given, "--data", str(data), "--results", str(results)]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    record = json.loads((results / "counts" / "photos-mixed-2piles-seed0.json").read_text())
    assert (record["covered"], len(record["piles"])) == (100, 2)
    for pile in record["piles"]:
        assert pile["low"] <= pile["estimate"] <= pile["high"]
        assert pile["classes"] > pile["known"]
    section = counts_section(results)
    assert "| photos | mixed | 2 | 100 % |" in section
    assert "ImageNet's labels" in section
    assert "there already" in CliRunner().invoke(app, command).stdout


def test_entries_and_a_file_that_is_missing(tmp_path: Path) -> None:
    assert len(select_counts(None, None, 20, 0)) == 6
    assert [entry.name for entry in select_counts("photos", "new", 5, 1)] == ["photos-new-5piles-seed1"]
    with pytest.raises(InputError, match=r"cifar100-lite0\.npz is not in"):
        read_features("cifar100", tmp_path)
