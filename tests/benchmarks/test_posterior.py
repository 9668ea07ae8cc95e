"""The benchmark of judging answers: what is measured, and the verdicts. No test looks at a time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from likewise.benchmarks.posterior import CASES, Cost, judge, measure_alone, record, report
from likewise.storage.records import as_json

COSTS = [
    Cost("answers alone", 1000, 9.0, 90.0, 0.1),
    Cost("answers alone", 3000, 30.0, 900.0, 0.1),
    Cost("answers alone", 10_000, 99.0, 1800.0, 0.1),
]


@pytest.mark.parametrize("case", CASES)
def test_each_case_is_measured_in_a_process_of_its_own(case: str) -> None:
    cost = measure_alone(case, 500)
    assert (cost.case, cost.answers) == (case, 500)
    assert cost.cpu_seconds > 0
    assert 0 < cost.share_wrong < 0.4


def test_a_process_that_fails_is_said_so() -> None:
    with pytest.raises(RuntimeError, match="failed"):
        measure_alone(CASES[0], -1)


def test_the_cost_of_an_answer_is_judged() -> None:
    assert [(value, verdict) for _, value, verdict in judge(COSTS)] == [(1.1, "pass"), (2.0, "miss")]


def test_what_depends_on_the_number_of_answers_is_said() -> None:
    alone, with_classes = (replace(COSTS[0], case=case, answers=10_000_000).how for case in CASES)
    assert alone == "sweeps: 1 before each estimate of the rates, 25 at the end"
    assert with_classes == "messages in float32"
    assert replace(COSTS[0], case=CASES[1]).how == "messages in float64"


def test_record_and_report() -> None:
    written = as_json(record(COSTS))
    assert len(written["costs"]) == 3
    assert [bar["verdict"] for bar in written["bars"]] == ["pass", "miss"]
    lines = [*report(COSTS)]
    sweeps = "sweeps: 4 before each estimate of the rates, 150 at the end"
    assert lines[1] == f"answers alone             1,000         9.00       90  {sweeps}"
    assert lines[-1] == "miss  answers alone, 1,000 to 10,000 answers, MiB an answer times at most 1.5: 2"
