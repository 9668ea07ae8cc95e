"""The benchmark of loss surfaces: all contenders compute the same losses; the verdict. No test looks at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from likewise.benchmarks.landscape import CONTENDERS, Comparison, judge, record, report, synthetic_job
from likewise.cli.bench import app

COMPARISON = Comparison(
    items=1000,
    points=16,
    repeats=3,
    milliseconds={"loop": 400.0, "loop in channels_last": 250.0, "vmap": 600.0, "ours": 100.0},
    cpu_milliseconds={"loop": 800.0, "loop in channels_last": 400.0, "vmap": 900.0, "ours": 200.0},
    losses_differ=1e-6,
)


def test_all_compute_the_same_losses() -> None:
    job = synthetic_job(items=20, points=3)
    found = {name: call(job) for name, call in CONTENDERS.items()}
    assert found["loop"].shape == (3, 3)
    assert np.ptp(found["loop"], axis=1).min() > 0  # the points differ
    for each in found.values():
        np.testing.assert_allclose(each, found["loop"], rtol=1e-4)


def test_the_verdict_is_for_1000_items() -> None:
    assert judge(COMPARISON) == ("1000 items, loop/ours in time at least 3", 4.0, "pass")
    assert judge(replace(COMPARISON, milliseconds={**COMPARISON.milliseconds, "ours": 200.0}))[1:] == (2.0, "miss")
    assert judge(replace(COMPARISON, items=20))[2] == "not measured"


def test_the_report_names_every_contender() -> None:
    lines = list(report(COMPARISON))
    assert lines[1].split() == ["loop", "400", "800", "4.00", "4.00"]
    assert lines[4].split() == ["ours", "100", "200"]
    assert record(COMPARISON)["ratios"]["cpu_time"] == {"loop": 4.0, "loop in channels_last": 2.0, "vmap": 4.5}


def test_the_command_writes_what_it_measured(tmp_path: Path) -> None:
    out = tmp_path / "new" / "landscape.json"
    small = ["--n-items", "20", "--points", "2", "--repeats", "1"]
    ran = CliRunner().invoke(app, ["landscape", *small, "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    written = json.loads(out.read_text())
    assert (written["items"], written["points"], written["repeats"]) == (20, 2, 1)
    assert written["losses_differ"] < 1e-3
    assert written["bars"][0]["verdict"] == "not measured"
    assert ran.output.endswith(f"Wrote {out}.\n")
