"""The benchmark of the similarity network: both forms are one network, and the verdicts. No test looks at a time."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from likewise.benchmarks import similarity
from likewise.benchmarks.measure import MEBIBYTE, mebibytes_alone
from likewise.benchmarks.similarity import Comparison, Trainee, compare, judge, record, report
from likewise.cli.bench import app
from likewise.errors import InputError
from likewise.storage.records import as_json

COMPARISON = Comparison(
    b=100,
    n_features=1024,
    hidden=4096,
    repeats=5,
    milliseconds={"plain": 4200.0, "ours": 400.0},
    cpu_milliseconds={"plain": 8000.0, "ours": 640.0},
    mebibytes={"plain": 780.0, "ours": 200.0},
    logits_differ=1e-6,
)


def test_both_forms_have_the_same_weights_and_take_the_same_steps() -> None:
    trainees = Trainee("plain", hidden=8), Trainee("ours", hidden=8)
    for _ in range(2):
        logits, our_logits = (trainee.step(6) for trainee in trainees)
        torch.testing.assert_close(our_logits, logits, rtol=1e-4, atol=1e-4)
        gradient, our_gradient = (trainee.network.head.first.weight.grad for trainee in trainees)
        torch.testing.assert_close(our_gradient, gradient, rtol=1e-3, atol=1e-5)
    assert logits.shape == (6, 6)
    assert trainees[0].network.n_features == 1024
    n_learned = sum(p.numel() for name, p in trainees[0].network.named_parameters() if "backbone.last" not in name)
    assert trainees[0].gradient_bytes() == 4 * n_learned


def test_a_step_changes_the_weights() -> None:
    trainee = Trainee("ours", hidden=8)
    assert not torch.equal(trainee.step(6), trainee.step(6))


def test_both_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "mebibytes_alone", lambda _, name, *rest: {"plain": 50.0, "ours": 10.0}[name])
    measured = compare(b=5, hidden=8, repeats=2)
    assert (measured.b, measured.n_features, measured.hidden, measured.repeats) == (5, 1024, 8, 2)
    assert measured.logits_differ < 1e-5
    assert measured.ratios()["memory"] == 5.0
    assert min(*measured.milliseconds.values(), *measured.cpu_milliseconds.values()) > 0


def test_memory_is_that_of_the_step_with_its_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(Trainee, "step", lambda _, b: sizes.append(b))
    monkeypatch.setattr(Trainee, "gradient_bytes", lambda _: 7 * MEBIBYTE)
    monkeypatch.setattr(similarity, "peak_bytes", lambda: 100 * MEBIBYTE * len(sizes))
    assert similarity.step_mebibytes("plain", 30, 8) == 107.0
    assert sizes == [4, 30]


def test_memory_is_measured_in_a_process_of_its_own() -> None:
    trainee = Trainee("ours", hidden=8)
    trainee.step(4)
    measured = mebibytes_alone("likewise.benchmarks.similarity", "ours", "4", "8", "1")
    assert measured == pytest.approx(trainee.gradient_bytes() / MEBIBYTE, abs=20)  # the same step again adds little


def test_a_form_that_was_killed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "mebibytes_alone", lambda *_: None)
    with pytest.raises(InputError, match="plain form was killed for its memory"):
        compare(b=5, hidden=8, repeats=1)


@pytest.mark.parametrize(
    ("changed", "verdicts"),
    [
        ({}, ["pass", "miss"]),
        ({"mebibytes": {"plain": 800.0, "ours": 200.0}}, ["pass", "pass"]),
        ({"milliseconds": {"plain": 3999.0, "ours": 400.0}}, ["miss", "miss"]),
        ({"b": 50}, ["not measured", "not measured"]),
    ],
)
def test_bars(changed: dict[str, object], verdicts: list[str]) -> None:
    assert [verdict for *_, verdict in judge(replace(COMPARISON, **changed))] == verdicts  # type: ignore[arg-type]


def test_record_and_report() -> None:
    written = as_json(record(COMPARISON))
    assert written["ratios"] == {"time": 10.5, "cpu_time": 12.5, "memory": 3.9}
    assert written["bars"][1] == {
        "bar": "(100, 4096) plain/ours in memory at least 4",
        "measured": 3.9,
        "verdict": "miss",
    }
    assert [*report(COMPARISON)] == [
        "              plain     ours    ratio",
        "ms             4200      400    10.50",
        "ms of CPU      8000      640    12.50",
        "MiB             780      200     3.90",
        "pass         (100, 4096) plain/ours in time at least 10: 10.5",
        "miss         (100, 4096) plain/ours in memory at least 4: 3.9",
    ]


def test_the_command_writes_and_prints_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = torch.get_num_threads()
    asked: list[tuple[int, int]] = []

    def measured(repeats: int) -> Comparison:
        asked.append((repeats, torch.get_num_threads()))
        return COMPARISON

    monkeypatch.setattr(similarity, "compare", measured)
    out = tmp_path / "new" / "similarity.json"
    arguments = ["similarity", "--out", str(out), "--repeats", "2", "--threads", str(before + 1)]
    ran = CliRunner().invoke(app, arguments)
    assert ran.exit_code == 0, ran.output
    assert asked == [(2, before + 1)]
    assert torch.get_num_threads() == before
    assert json.loads(out.read_text())["threads"] == before + 1
    assert ran.output.endswith(f"in memory at least 4: 3.9\nWrote {out}.\n")
    refused = CliRunner().invoke(app, ["similarity", "--out", str(tmp_path)])
    assert isinstance(refused.exception, InputError)
    assert len(asked) == 1
