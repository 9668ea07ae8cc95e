"""The demo, whole: digits from same or different only, nearly as good as with labels, and a report of one file."""

from __future__ import annotations

import re
from pathlib import Path

import torch
from typer.testing import CliRunner

from likewise.cli import app


def test_demo_learns_and_reports(tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), "--epochs", "12"])
    torch.set_num_threads(threads)
    assert result.exit_code == 0, result.output
    pairwise, twin = (float(each) for each in re.findall(r"([\d.]+) % of 355 unseen digits right", result.output))
    assert pairwise >= 97
    assert abs(pairwise - twin) <= 1
    differ = re.search(r"They differ on (\d+)", result.output)
    assert differ is not None
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{pairwise:.1f}" in page or f"{pairwise:.2f}" in page
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_file_in_the_place_of_the_folder_is_refused_before_anything_is_learned(tmp_path: Path) -> None:
    (tmp_path / "demo").touch()
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is a file; give --out the name of a folder." in result.stderr
