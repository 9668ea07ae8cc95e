"""`python -m benchmarks.faults`: runs that are killed and damaged are told from those that end otherwise."""

from __future__ import annotations

import dataclasses
import json

from benchmarks.faults import Trial, in_words, judge, measure, record


def test_runs_that_are_killed_and_damaged_end_with_the_same_bytes() -> None:
    found = list(measure(kills=2, damages=3, items=220))
    assert [(trial.by, trial.harm) for trial in found] == [
        ("step", ""),
        ("rename", ""),
        ("step", "emptied"),
        ("step", "flipped"),
        ("step", "cut"),
    ]
    assert all(trial.same for trial in found)
    assert [trial.checkpoints for trial in found[2:]] == [2, 2, 2]


def test_other_bytes_are_a_miss() -> None:
    sound = Trial("step", 7, "", 1, True)
    found = [sound, dataclasses.replace(sound, same=False), dataclasses.replace(sound, harm="cut")]
    assert [line[1:] for line in judge(found)] == [("1 of 2", "miss"), ("1 of 1", "pass")]
    assert json.loads(json.dumps(record(found)))["trials"][1]["same"] is False
    assert in_words(12, found[1]).split("killed at ")[1].split() == ["step", "7", "1", "checkpoint", "OTHER", "BYTES"]
