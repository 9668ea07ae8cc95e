"""`likewise bench`: a run on a tiny size, and what is refused before anything is measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from likewise.benchmarks import criterion
from likewise.cli.bench import app
from likewise.errors import InputError


@pytest.fixture
def threads_told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One tiny size, a bar that nothing passes, and no processes: the threads they would have been told are kept."""
    told: list[str] = []

    def memory(module: str, name: str, b: str, outputs: str, threads: str) -> float:
        told.append(threads)
        return 1.0

    monkeypatch.setattr(criterion, "mebibytes_alone", memory)
    monkeypatch.setattr(criterion, "SIZES", ((6, 3),))
    monkeypatch.setattr(criterion, "BARS", (criterion.Bar("mcl", 6, 3, "ours/products", at_most=0.0),))
    return told


def test_table_and_json_and_exit_code_0_for_a_miss(threads_told: list[str], tmp_path: Path) -> None:
    out = tmp_path / "new" / "criterion.json"
    before = torch.get_num_threads()
    other = 1 if before > 1 else 2
    ran = CliRunner().invoke(app, ["criterion", "--out", str(out), "--repeats", "2", "--threads", str(other)])
    assert ran.exit_code == 0, ran.output
    written = json.loads(out.read_text())
    assert [(case["criterion"], case["b"], case["outputs"]) for case in written["cases"]] == [
        ("mcl", 6, 3),
        ("kcl", 6, 3),
    ]
    assert written["cases"][0]["repeats"]["ours"] == 2
    assert written["threads"] == other
    assert set(threads_told) == {str(other)}
    assert torch.get_num_threads() == before
    assert "1 of 1 bars missed." in ran.output
    assert "miss         MCL (6, 3) ours/products at most 0: " in ran.output
    assert ran.output.endswith(f"Wrote {out}.\n")
    assert [path.name for path in out.parent.iterdir()] == ["criterion.json"]


def test_a_place_that_cannot_be_written_is_refused_before_measuring(threads_told: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "criterion.json"):
        refused = CliRunner().invoke(app, ["criterion", "--out", str(place)])
        assert isinstance(refused.exception, InputError)
        assert "--out" in str(refused.exception)
    assert threads_told == []


@pytest.mark.parametrize("option", ["--repeats", "--threads"])
def test_counts_start_at_one(threads_told: list[str], tmp_path: Path, option: str) -> None:
    refused = CliRunner().invoke(app, ["criterion", "--out", str(tmp_path / "c.json"), option, "0"])
    assert refused.exit_code == 2
    assert threads_told == []


def test_answers_are_made_up_measured_and_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # ask again
    out = tmp_path / "new" / "pairs.json"
    ran = CliRunner().invoke(app, ["pairs", "--out", str(out), "--answers", "200"])
    assert ran.exit_code == 0, ran.output
    written = json.loads(out.read_text())
    assert (written["answers"], [step["name"] for step in written["steps"]]) == (200, ["load", "close", "check"])
    assert ran.output.splitlines()[1].startswith("load ")
    assert ran.output.endswith(f"Wrote {out}.\n")
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_importing_the_command_does_not_import_torch() -> None:
    code = "import sys, likewise.cli.bench; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
