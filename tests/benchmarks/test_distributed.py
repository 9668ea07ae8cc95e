"""`python -m benchmarks.distributed`: what one process sends, which is nothing, and when the bar is missed."""

from __future__ import annotations

import json

from benchmarks.distributed import Step, judge, measure_here, record, report


def steps(*bytes_for_pairs: float) -> list[Step]:
    return [Step(2, 100 * 4**place, 1.0, sent, 10.0, 3) for place, sent in enumerate(bytes_for_pairs)]


def test_bytes_in_proportion_to_b_pass_and_those_of_its_square_miss() -> None:
    assert judge(steps(1000.0, 4000.0, 16000.0))[1:] == (1.0, "pass")
    assert judge(steps(1000.0, 16000.0))[1:] == (4.0, "miss")


def test_one_process_sends_nothing() -> None:
    measured = measure_here([8, 16], repeats=1)
    assert [(step.b, step.bytes_for_pairs, step.bytes_for_weights, step.waits) for step in measured] == [
        (8, 0.0, 0.0, 0),
        (16, 0.0, 0.0, 0),
    ]
    assert judge(measured)[1:] == (None, "not measured")
    assert json.loads(json.dumps(record(measured, 1)))["steps"][1]["b"] == 16
    assert len(list(report(measured))) == 4
