"""The benchmark of an epoch: both see the same items, and the verdict. No test looks at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from likewise.benchmarks import semi
from likewise.benchmarks.semi import EpochTimes, Learner, compare, judge, record, report
from likewise.cli.bench import app
from likewise.errors import InputError
from likewise.storage.records import as_json

TIMES = EpochTimes(
    items=2000,
    batch_size=100,
    repeats=5,
    seconds={"pi-model": 4.0, "pseudo-mcl": 4.8},
    cpu_seconds={"pi-model": 4.0, "pseudo-mcl": 4.2},
)


def test_both_see_the_same_items_and_begin_with_the_same_network() -> None:
    pi, ours = (Learner(name, items=48, batch_size=12) for name in semi.CONTENDERS)
    for one, other in zip(pi.batches.epoch(0), ours.batches.epoch(0), strict=True):
        assert torch.equal(one.inputs, other.inputs)
        assert len(one.labels) == 3 + 2 * 12
        assert (one.labels[:3] >= 0).all()
    for one, other in zip(pi.network.parameters(), ours.network.parameters(), strict=True):
        assert torch.equal(one, other)


def test_an_epoch_learns() -> None:
    learner = Learner("pseudo-mcl", items=24, batch_size=12)
    before = learner.network.last.weight.clone()
    learner.epoch()
    assert not torch.equal(before, learner.network.last.weight)


def test_both_are_measured() -> None:
    measured = compare(items=24, batch_size=12, repeats=2)
    assert (measured.items, measured.batch_size, measured.repeats) == (24, 12, 2)
    assert min(*measured.seconds.values(), *measured.cpu_seconds.values()) > 0


@pytest.mark.parametrize(("ours", "verdict"), [(4.6, "pass"), (4.61, "miss")])
def test_the_bar_is_for_cpu_time(ours: float, verdict: str) -> None:
    assert judge(replace(TIMES, cpu_seconds={"pi-model": 4.0, "pseudo-mcl": ours}))[2] == verdict


def test_record_and_report() -> None:
    written = as_json(record(TIMES))
    assert written["ratios"] == {"time": 1.2, "cpu_time": 1.05}
    assert written["bars"] == [
        {"bar": "an epoch of pseudo-mcl at most 1.15 of pi-model's", "measured": 1.05, "verdict": "pass"}
    ]
    assert [*report(TIMES)] == [
        "                   pi-model pseudo-mcl    ratio",
        "seconds                4.00       4.80    1.200",
        "seconds of CPU         4.00       4.20    1.050",
        "pass         an epoch of pseudo-mcl at most 1.15 of pi-model's: 1.05",
    ]


def test_the_command_writes_and_prints_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(semi, "compare", lambda repeats: replace(TIMES, repeats=repeats))
    out = tmp_path / "new" / "semi.json"
    ran = CliRunner().invoke(app, ["semi", "--out", str(out), "--repeats", "3"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(out.read_text())["repeats"] == 3
    assert ran.output.endswith(f"of pi-model's: 1.05\nWrote {out}.\n")
    assert isinstance(CliRunner().invoke(app, ["semi", "--out", str(tmp_path)]).exception, InputError)
