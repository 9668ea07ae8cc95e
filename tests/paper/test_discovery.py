"""`likewise paper discovery`: the protocols on a small file in the same format, the records, rivals and the section."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from likewise.cli import app
from likewise.errors import InputError
from likewise.paper import discovery
from likewise.paper.discovery import (
    PROTOCOLS,
    Protocol,
    discovery_section,
    make_problem,
    select_discovery,
    semi_supervised_k_means,
)

SMALL = {
    "photos": Protocol("photos", "small.npz", 5, "new"),
    "photos-mixed": Protocol("photos", "small.npz", 5, "mixed"),
    "photos-unseen": Protocol("photos", "small.npz", 4, "unseen", 2),
}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nine classes of thirty, of which twenty are for training."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(9), 30)
    x = random.normal(size=(9, 16))[y] + 0.4 * random.normal(size=(270, 16))
    split = np.where(np.arange(270) % 3 == 0, "test", "train")
    np.savez(tmp_path / "small.npz", X=x.astype(np.float16), y=y, split=split)
    monkeypatch.setattr(discovery, "PROTOCOLS", SMALL)
    return tmp_path


def test_what_is_known_and_what_is_in_the_pile(data: Path) -> None:
    new = make_problem(SMALL["photos"], data, 0)
    assert (set(new.known_y), set(new.pile_y)) == (set(range(5)), set(range(5, 9)))
    np.testing.assert_allclose(np.linalg.norm(new.pile, axis=1), 1, atol=1e-5)
    mixed = make_problem(SMALL["photos-mixed"], data, 0)
    assert np.bincount(mixed.known_y).tolist() == [10] * 5
    assert np.bincount(mixed.pile_y).tolist() == [10] * 5 + [20] * 4
    unseen = make_problem(SMALL["photos-unseen"], data, 0)
    assert max(unseen.pile_y) == 6
    assert unseen.later_unseen.sum() == 40
    assert len(unseen.known) + len(unseen.pile) + len(unseen.later) == 180
    with pytest.raises(InputError, match=r"small\.npz is not in"):
        make_problem(SMALL["photos"], data / "nowhere", 0)


def test_records_rivals_and_the_section(data: Path, tmp_path: Path) -> None:
    def run(*options: str) -> Any:
        given = ["paper", "discovery", "--data", str(data), "--results", str(tmp_path / "results"), *options]
        return CliRunner().invoke(app, given, catch_exceptions=False)

    assert "Nothing is recorded yet" in discovery_section(tmp_path / "results")
    assert run("--protocol", "photos-mixed", "--classes", "true").exit_code == 0
    assert run("--protocol", "photos-unseen").exit_code == 0
    record = json.loads((tmp_path / "results/discovery/photos-mixed-true-seed0.json").read_text())
    assert record["accuracy"] == record["old"] == record["new"] == record["by_name"] == 100
    assert (record["n_classes"], record["estimate"], record["n_labelled"], record["n_pile"]) == (9, 9, 50, 130)
    assert set(record["rivals"]) == {"k-means", "semi-supervised k-means", "logistic regression"}
    assert record["rivals"]["logistic regression"]["old"] > 90 > 50 > record["rivals"]["logistic regression"]["new"]
    unseen = json.loads((tmp_path / "results/discovery/photos-unseen-estimated-seed0.json").read_text())
    assert unseen["unseen_auroc"] > 0.9
    section = discovery_section(tmp_path / "results")
    assert "| photos-mixed | given | 100.0 | 100.0 | 100.0 |" in section
    assert f"an AUROC of {unseen['unseen_auroc']:.3f}" in section
    assert "cover many of these classes" in section
    assert "there already" in run("--protocol", "photos-unseen").stdout


def test_entries() -> None:
    assert len(select_discovery(None, None, 0)) == 2 * len(PROTOCOLS) - 1
    assert [entry.name for entry in select_discovery("photos", "true", 3)] == ["photos-true-seed3"]
    assert select_discovery("photos-unseen", "true", 0) == []


def test_semi_supervised_k_means_ends_where_nothing_moves() -> None:
    random = np.random.default_rng(1)
    y = np.repeat(np.arange(4), 25)
    x = (random.normal(size=(4, 6))[y] * 3 + 0.5 * random.normal(size=(100, 6))).astype(np.float32)
    known = (y < 2) & (np.arange(100) % 2 == 0)
    labels = semi_supervised_k_means(x[known], y[known], x[~known], 4, 0)
    means = np.stack([np.concatenate([x[known][y[known] == k], x[~known][labels == k]]).mean(axis=0) for k in range(4)])
    np.testing.assert_array_equal(labels, ((x[~known][:, None] - means) ** 2).sum(axis=2).argmin(axis=1))
    np.testing.assert_array_equal(labels[y[~known] < 2], y[~known][y[~known] < 2])
